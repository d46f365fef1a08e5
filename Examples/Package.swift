// swift-tools-version: 6.2
import PackageDescription

/// Three small programs that use nothing but the library's public face, as any other package would.
let package = Package(
  name: "examples",
  platforms: [.macOS("26.0")],
  dependencies: [.package(name: "pusher-cli", path: "..")],
  targets: ["ticker", "room", "notifier"].map { name in
    .executableTarget(
      name: name,
      dependencies: [.product(name: "PusherCore", package: "pusher-cli")],
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  },
  swiftLanguageModes: [.v6]
)
