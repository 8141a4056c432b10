// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Tests read C results and pointers on almost every line: marking each `unsafe` would say nothing.
let relaxed: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
  name: "Cuejack",
  products: [
    .library(name: "AudioToolbox", type: .dynamic, targets: ["AudioToolbox"]),
    .executable(name: "cuejack", targets: ["cuejack"]),
  ],
  traits: [
    .default(enabledTraits: ["RubberBand"]),
    .trait(
      name: "RubberBand",
      description: "Rate and pitch through Rubber Band, which is under the GPL."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    // The C edge and the system libraries.
    .target(name: "CAudioToolbox"),
    .target(
      name: "CRealTime", dependencies: ["CJack"],
      cSettings: [.enableWarning("function-effects"), .treatAllWarnings(as: .error)]),
    .target(
      name: "CPluginRunner", dependencies: ["CRealTime"],
      cSettings: [.enableWarning("function-effects"), .treatAllWarnings(as: .error)]),
    .systemLibrary(name: "CGlibc"),
    .systemLibrary(name: "CLibdispatch"),
    .systemLibrary(name: "CJack", pkgConfig: "jack", providers: [.apt(["libjack-jackd2-dev"])]),
    .systemLibrary(
      name: "CFFmpeg", pkgConfig: "libavformat",
      providers: [.apt(["libavcodec-dev", "libavformat-dev", "libavutil-dev"])]),
    .systemLibrary(
      name: "CLilv", pkgConfig: "lilv-0", providers: [.apt(["liblilv-dev", "lv2-dev"])]),
    .systemLibrary(name: "CSndfile", pkgConfig: "sndfile", providers: [.apt(["libsndfile1-dev"])]),
    .systemLibrary(
      name: "CRubberBand", pkgConfig: "rubberband", providers: [.apt(["librubberband-dev"])]),
    .systemLibrary(name: "CSoxr", pkgConfig: "soxr", providers: [.apt(["libsoxr-dev"])]),

    // The house, from the ground up. Arrows point down only.
    .target(name: "System", dependencies: ["CGlibc"], swiftSettings: strict),
    .target(name: "Timeline", swiftSettings: strict),
    .target(name: "RealTime", dependencies: ["CRealTime", "Timeline"], swiftSettings: strict),
    .target(
      name: "Server",
      dependencies: [
        "CJack", "RealTime", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "Codecs",
      dependencies: [
        "CFFmpeg", .target(name: "CRubberBand", condition: .when(traits: ["RubberBand"])), "CSoxr",
        "RealTime",
      ], swiftSettings: strict),
    .target(
      name: "Files", dependencies: ["CFFmpeg", "CSndfile", "Codecs", "RealTime"],
      swiftSettings: strict),
    .target(
      name: "Graph",
      dependencies: [
        "CRealTime", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "PluginHost",
      dependencies: [
        "CLilv", "CPluginRunner", "CRealTime", "Graph", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "AudioQueue",
      dependencies: [
        "CLibdispatch", "CRealTime", "Codecs", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "AudioToolbox",
      dependencies: [
        "AudioQueue", "CAudioToolbox", "Codecs", "Files", "RealTime", "Server", "System",
        "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .executableTarget(
      name: "cuejack",
      dependencies: [
        "AudioQueue", "Codecs", "Files", "Graph", "PluginHost", "RealTime", "Server", "System",
        "Timeline",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),

    // The sound files of the demo.
    .executableTarget(
      name: "make-sessions", dependencies: ["CSndfile"], path: "sessions/generator",
      swiftSettings: strict),

    // Small programs to copy from. The C ones have Makefiles of their own.
    .executableTarget(
      name: "player-swift", dependencies: ["AudioToolbox"], path: "Examples/PlayerSwift",
      swiftSettings: relaxed),
    .executableTarget(
      name: "recorder-swift", dependencies: ["AudioToolbox"], path: "Examples/RecorderSwift",
      swiftSettings: relaxed),

    // What `make bench` runs.
    .executableTarget(
      name: "cuejack-bench",
      dependencies: [
        "AudioQueue", "CBench", "CJack", "CRealTime", "CTestSupport", "Codecs", "Files", "Graph",
        "PluginHost", "RealTime", "Server", "System", "TestSupport", "Timeline",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Benchmarks", exclude: ["C"], swiftSettings: relaxed),
    .target(name: "CBench", dependencies: ["CJack", "CLilv"], path: "Benchmarks/C"),

    // What `make fuzz` runs.
    .executableTarget(
      name: "cuejack-fuzz",
      dependencies: [
        "AudioToolbox", "CPluginRunner", "CRealTime", "Graph", "PluginHost", "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], path: "Tests/Tools/Fuzz", swiftSettings: relaxed),

    // What `make rtsan` runs besides the command line.
    .executableTarget(
      name: "render-callback",
      dependencies: [
        "CRealTime", "Graph", "PluginHost", "Server",
      ],
      path: "Tests/Tools/Gates/RenderCallback", swiftSettings: relaxed),

    // What the tests stand on, and the tests of that.
    .target(name: "CTestSupport", dependencies: ["CJack"], path: "Tests/Support/CTestSupport"),
    .target(name: "CProbe", path: "Tests/Support/CProbe"),
    .target(
      name: "TestSupport",
      dependencies: ["CJack", "CRealTime", "CTestSupport", "RealTime", "Server", "Timeline"],
      path: "Tests/Support/TestSupport", exclude: ["PipeWire"], swiftSettings: relaxed),
    .executableTarget(
      name: "jack-peer", dependencies: ["CJack", "CTestSupport"], path: "Tests/Support/JackPeer",
      cSettings: [.treatAllWarnings(as: .error)]),
    .testTarget(
      name: "SupportTests", dependencies: ["TestSupport"], path: "Tests/Support/SupportTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "ProbeTests", dependencies: ["CProbe", "TestSupport"], path: "Tests/Support/ProbeTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "TimelineTests", dependencies: ["Timeline"], path: "Tests/Unit/TimelineTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "RealTimeTests",
      dependencies: ["CProbe", "CRealTime", "RealTime", "Server", "TestSupport", "Timeline"],
      path: "Tests/Unit/RealTimeTests", exclude: ["outside-symbols.txt"], swiftSettings: relaxed),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "RealTime", "Server", "System", "TestSupport", "Timeline",
      ],
      path: "Tests/Unit/ServerTests", swiftSettings: relaxed),
    .testTarget(
      name: "PluginHostTests",
      dependencies: [
        "CLilv", "CPluginRunner", "CProbe", "CRealTime", "Graph", "PluginHost", "RealTime",
        "Server", "System", "TestSupport", "Timeline", "cuejack",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Unit/PluginHostTests", exclude: ["Fixtures"], swiftSettings: relaxed),
    // The host without our code that `make conformance` compares with.
    .executableTarget(
      name: "plain-lv2-host", dependencies: ["CLilv"], path: "Tests/Tools/Conformance/PlainHost",
      cSettings: [.treatAllWarnings(as: .error)], linkerSettings: [.linkedLibrary("m")]),
    .testTarget(
      name: "GraphTests",
      dependencies: [
        "CProbe", "CRealTime", "Graph", "PluginHost", "RealTime", "Server", "System", "TestSupport",
        "Timeline",
      ],
      path: "Tests/Unit/GraphTests", swiftSettings: relaxed),
    .testTarget(
      name: "PluginsTests", dependencies: ["CLilv", "CProbe", "TestSupport"],
      path: "Tests/Plugins/PluginsTests", swiftSettings: relaxed),
    .testTarget(
      name: "CodecsTests", dependencies: ["CFFmpeg", "Codecs", "FileSupport", "RealTime"],
      path: "Tests/Unit/CodecsTests", swiftSettings: relaxed),
    .testTarget(
      name: "AudioQueueTests",
      dependencies: [
        "AudioQueue", "CProbe", "CRealTime", "Codecs", "Graph", "PluginHost", "RealTime", "Server",
        "System", "TestSupport", "Timeline",
      ],
      path: "Tests/Unit/AudioQueueTests", swiftSettings: relaxed),
    .testTarget(
      name: "PipeWireTests",
      dependencies: ["Server", "TestSupport", "cuejack", "jack-peer", "player-swift"],
      path: "Tests/Server/PipeWireTests", swiftSettings: relaxed),
    .testTarget(
      name: "HouseTests", dependencies: ["TestSupport"], path: "Tests/Project/HouseTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "DocsTests", dependencies: ["TestSupport", "cuejack"], path: "Tests/Project/DocsTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "CommandTests", dependencies: ["CTestSupport", "TestSupport"],
      path: "Tests/Command/CommandTests", swiftSettings: relaxed),
    .testTarget(
      name: "APITests", dependencies: ["TestSupport"], path: "Tests/API/APITests",
      exclude: ["Programs", "semantics.md"],
      swiftSettings: relaxed),

    // Sound files, their C functions, the headers and the command line.
    .target(name: "FileSupport", path: "Tests/Support/FileSupport", swiftSettings: relaxed),
    .testTarget(
      name: "FilesTests", dependencies: ["Codecs", "Files", "FileSupport", "RealTime"],
      path: "Tests/Unit/FilesTests", swiftSettings: relaxed),
    .testTarget(
      name: "AudioToolboxTests",
      dependencies: ["AudioToolbox", "Codecs", "FileSupport", "Files", "RealTime", "TestSupport"],
      path: "Tests/Unit/AudioToolboxTests", swiftSettings: relaxed),
    // A program written for Apple's systems, word for word but for its casts.
    .executableTarget(
      name: "swift-client", dependencies: ["AudioToolbox"], path: "Tests/API/SwiftClient",
      swiftSettings: relaxed),
    .testTarget(
      name: "SwiftClientTests", dependencies: ["TestSupport", "swift-client"],
      path: "Tests/API/SwiftClientTests", swiftSettings: relaxed),
    .testTarget(
      name: "HeadersTests", dependencies: ["FileSupport"], path: "Tests/API/HeadersTests",
      exclude: ["Programs"],
      swiftSettings: relaxed),
    .testTarget(
      name: "CuejackTests",
      dependencies: [
        "AudioQueue", "Codecs", "FileSupport", "Files", "RealTime", "Server", "TestSupport",
        "Timeline", "cuejack",
      ], path: "Tests/Command/CuejackTests", swiftSettings: relaxed),
    .testTarget(
      name: "FuzzTests", dependencies: ["TestSupport", "cuejack-fuzz"],
      path: "Tests/Project/FuzzTests", swiftSettings: relaxed),
    .testTarget(
      name: "BenchmarkTests", dependencies: ["TestSupport", "cuejack", "cuejack-bench"],
      path: "Tests/Project/BenchmarkTests", swiftSettings: relaxed),
    .testTarget(
      name: "ExamplesTests", dependencies: ["TestSupport", "player-swift", "recorder-swift"],
      path: "Tests/Project/ExamplesTests", swiftSettings: relaxed),
  ]
)
