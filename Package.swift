// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target: warnings are errors, and each use of a pointer is marked.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Linux has hiredis on the search path, and its pkg-config file has a flag forbidden in packages.
#if os(Linux)
  let hiredis: String? = nil
#else
  let hiredis: String? = "hiredis"
#endif

let package = Package(
  name: "pusher-cli",
  // Synchronization and the 128-bit integers of decoders need these versions.
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "PusherCore", targets: ["PusherCore"]),
    .library(name: "PusherTesting", targets: ["PusherTesting"]),
    .executable(name: "pusher-cli", targets: ["pusher-cli"]),
  ],
  traits: [
    .trait(
      name: "Encryption",
      description: "Channels whose names begin with private-encrypted-; it needs libsodium."),
    .trait(
      name: "Redis",
      description: "A local server of several processes that share one Redis; it needs hiredis."),
    .default(enabledTraits: ["Encryption", "Redis"]),
  ],
  targets: [
    .systemLibrary(
      name: "CSystemOpenSSL",
      pkgConfig: "openssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
    ),
    .systemLibrary(
      name: "CSystemZlib",
      pkgConfig: "zlib",
      providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]
    ),
    .systemLibrary(
      name: "CSystemSodium",
      pkgConfig: "libsodium",
      providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
    ),
    .systemLibrary(
      name: "CSystemHiredis",
      pkgConfig: hiredis,
      providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]
    ),
    // Functions that the system's own modules for Swift lack.
    .systemLibrary(name: "CSystemEpoll"),
    // Wide compares, whose results Swift cannot turn into bit masks.
    .systemLibrary(name: "CSystemVectors"),
    // The system's C library.
    .target(name: "PusherPlatform", swiftSettings: strict),
    .target(
      name: "PusherCore",
      dependencies: [
        "CSystemEpoll", "CSystemOpenSSL", "CSystemVectors", "CSystemZlib", "PusherPlatform",
        .target(name: "CSystemSodium", condition: .when(traits: ["Encryption"])),
      ],
      swiftSettings: strict
    ),
    // Events as lines: conditions, fields, templates, layouts; only the program uses it.
    .target(name: "PusherLines", dependencies: ["PusherCore"], swiftSettings: strict),
    .target(
      name: "PusherServer",
      dependencies: ["PusherCore"],
      swiftSettings: strict
    ),
    // The console of a server; the program adds it.
    .target(
      name: "PusherConsole",
      dependencies: ["PusherCore", "PusherServer"],
      resources: [.embedInCode("Page")],
      swiftSettings: strict
    ),
    // Servers of several processes that share Redis; built only with the trait.
    .target(
      name: "PusherCluster",
      dependencies: ["CSystemHiredis", "PusherCore", "PusherServer"],
      resources: [.embedInCode("Lua")],
      swiftSettings: strict
    ),
    // An in-process server for tests of programs that use the library.
    .target(
      name: "PusherTesting", dependencies: ["PusherCore", "PusherServer"], swiftSettings: strict
    ),
    // Facts about the process and the program: its words, its commit, its system.
    .target(name: "CProgram"),
    .executableTarget(
      name: "pusher-cli",
      dependencies: [
        "CProgram", "PusherConsole", "PusherCore", "PusherLines", "PusherPlatform", "PusherServer",
        .target(name: "PusherCluster", condition: .when(traits: ["Redis"])),
      ],
      resources: [.embedInCode("Texts")],
      swiftSettings: strict
    ),
    // The tested client of `scripts/check.sh conformance`; built, never installed.
    .executableTarget(
      name: "autobahn-testee",
      dependencies: ["PusherCore"],
      path: "Tests/AutobahnTestee",
      swiftSettings: strict
    ),
    // A reader of `make bench`; never installed.
    .executableTarget(
      name: "bound-handler",
      dependencies: ["PusherCore"],
      path: "Benchmarks/BoundHandler",
      swiftSettings: strict
    ),
    // The library's figures in `make bench`; never installed.
    .executableTarget(
      name: "library-figures",
      dependencies: ["PusherCore"],
      path: "Benchmarks/LibraryFigures",
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    .target(
      name: "TestSupport", dependencies: ["PusherCore"], path: "Tests/TestSupport",
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    // Redis and servers without I/O; tests deliver their messages.
    .target(
      name: "SimulationModel", dependencies: ["PusherCluster", "PusherCore", "PusherServer"],
      path: "Tests/Simulation/Model", swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    // Runs schedules of the simulation; never installed.
    .executableTarget(
      name: "simulation", dependencies: ["SimulationModel"], path: "Tests/Simulation/Main",
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    .testTarget(
      name: "PusherCoreTests",
      dependencies: [
        "CSystemVectors", "PusherCluster", "PusherConsole", "PusherCore", "PusherLines",
        "PusherServer", "PusherTesting", "SimulationModel", "TestSupport",
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    .testTarget(
      name: "CLITests",
      dependencies: ["pusher-cli", "PusherCore", "PusherLines", "CSystemOpenSSL", "TestSupport"],
      exclude: ["Peers"],
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
  ],
  swiftLanguageModes: [.v6]
)
