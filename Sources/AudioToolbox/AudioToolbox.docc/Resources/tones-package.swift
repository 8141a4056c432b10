// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Tones",
  // Or by url and from: where the repository has a server.
  dependencies: [.package(path: "../cuejack")],
  targets: [
    .executableTarget(
      name: "Tones", dependencies: [.product(name: "AudioToolbox", package: "cuejack")])
  ])
