// swift-tools-version: 6.2
import PackageDescription

/// Every target is built alike: warnings stop the build, and each use of a pointer says so.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Linux has hiredis where the compiler looks, and its description there holds a flag that a package may not use.
#if os(Linux)
  let hiredis: String? = nil
#else
  let hiredis: String? = "hiredis"
#endif

let package = Package(
  name: "pusher-cli",
  // Synchronization and the 128-bit integers of decoders are the newest that is used.
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
    // What the system's own modules for Swift leave out.
    .systemLibrary(name: "CSystemEpoll"),
    // The processor's wide compares, which Swift cannot make bit masks of.
    .systemLibrary(name: "CSystemVectors"),
    // The C library of the system, whichever it is.
    .target(name: "PusherPlatform", swiftSettings: strict),
    .target(
      name: "PusherCore",
      dependencies: [
        "CSystemEpoll", "CSystemOpenSSL", "CSystemVectors", "CSystemZlib", "PusherPlatform",
        .target(name: "CSystemSodium", condition: .when(traits: ["Encryption"])),
      ],
      swiftSettings: strict
    ),
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
    // Servers of several processes that meet in Redis; built with the trait alone.
    .target(
      name: "PusherCluster",
      dependencies: ["CSystemHiredis", "PusherCore", "PusherServer"],
      resources: [.embedInCode("Lua")],
      swiftSettings: strict
    ),
    // The local server in process, for the tests of programs that use the library.
    .target(
      name: "PusherTesting", dependencies: ["PusherCore", "PusherServer"], swiftSettings: strict
    ),
    // What the C library tells a program at its start, and Swift reads from /proc.
    .target(name: "CArguments"),
    .executableTarget(
      name: "pusher-cli",
      dependencies: [
        "CArguments", "PusherConsole", "PusherCore", "PusherPlatform", "PusherServer",
        .target(name: "PusherCluster", condition: .when(traits: ["Redis"])),
      ],
      swiftSettings: strict
    ),
    // The client under test of `scripts/conformance.sh`; built, never installed.
    .executableTarget(
      name: "autobahn-testee",
      dependencies: ["PusherCore"],
      path: "Tests/AutobahnTestee",
      swiftSettings: strict
    ),
    // A reader of `make bench`; built there, never installed.
    .executableTarget(
      name: "bound-handler",
      dependencies: ["PusherCore"],
      path: "Benchmarks/BoundHandler",
      swiftSettings: strict
    ),
    // The figures of the library in `make bench`; built there, never installed.
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
    // Redis and servers without I/O, whose messages a test delivers.
    .target(
      name: "SimulationModel", dependencies: ["PusherCluster", "PusherCore", "PusherServer"],
      path: "Tests/Simulation/Model", swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    // Runs schedules of the simulation; built for that, never installed.
    .executableTarget(
      name: "simulation", dependencies: ["SimulationModel"], path: "Tests/Simulation/Main",
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    .testTarget(
      name: "PusherCoreTests",
      dependencies: [
        "CSystemVectors", "PusherCluster", "PusherConsole", "PusherCore", "PusherServer",
        "PusherTesting", "SimulationModel", "TestSupport",
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
    .testTarget(
      name: "CLITests",
      dependencies: ["pusher-cli", "PusherCore", "CSystemOpenSSL", "TestSupport"],
      exclude: ["Peers"],
      swiftSettings: [.treatAllWarnings(as: .error)]
    ),
  ],
  swiftLanguageModes: [.v6]
)
