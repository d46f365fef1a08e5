// swift-tools-version: 6.2
import PackageDescription

/// Programs that use only the public API of the libraries, like any other package.
///
/// The small programs run against `pusher-cli serve`; `orders` is the program of the README. `tour`
/// has its own servers, and runs every sample of the articles.
let package = Package(
  name: "examples",
  platforms: [.macOS("26.0")],
  dependencies: [.package(name: "pusher-cli", path: "..")],
  targets: ["orders", "ticker", "room", "notifier", "worker"].map { name in
    .executableTarget(
      name: name,
      dependencies: [.product(name: "PusherCore", package: "pusher-cli")],
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  } + [
    .executableTarget(
      name: "tour",
      dependencies: [
        .product(name: "PusherCore", package: "pusher-cli"),
        .product(name: "PusherTesting", package: "pusher-cli"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]
    )
  ],
  swiftLanguageModes: [.v6]
)
