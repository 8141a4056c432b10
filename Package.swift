// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // Packages that depend on this one build it for debugging: a module in one run, which takes two minutes of processor
  // time for all. In runs for parts of a module, which C module owns timespec or FILE depends on the parts.
  .unsafeFlags(
    ["-whole-module-optimization", "-num-threads", "2"], .when(configuration: .debug)),
  // Functions that the compiler knows give generic types at once. By their names, the runtime would search all
  // conformances of a program, which took a seventh of a start of the command.
  .unsafeFlags(["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"]),
  // The linker leaves out functions that a product does not call: each has a section of its own, and none is marked as used.
  .unsafeFlags(["-Xfrontend", "-function-sections", "-Xfrontend", "-internalize-at-link"]),
]

// Tests read C results and pointers on almost every line: marking each `unsafe` would say nothing.
let relaxed: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
]

// Debian 12's valgrind reads clang's debug information up to version 4 only.
let dwarf4 = ["-gdwarf-4"]

// The command runs on machines without a toolchain: Swift's runtime and FoundationEssentials are linked
// into it. The modules are compiled for the shared libraries, which bring the two small ones by
// themselves. A sanitizer needs the shared libraries: -static-stdlib hides its functions from others.
let runtime: [LinkerSetting] =
  Context.environment["CUEJACK_SHARED_RUNTIME"] != nil
  ? []
  : [
    .unsafeFlags([
      "-static-stdlib", "-use-ld=lld", "-l_FoundationCShims", "-l_FoundationCollections",
      // -static-stdlib would export every symbol, a megabyte of names that each start reads.
      "-Xlinker", "--no-export-dynamic",
      // Addresses that the loader sets, packed: each takes a bit instead of 24 bytes, of which a start reads all.
      "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
    ])
  ]

let package = Package(
  name: "Cuejack",
  products: [
    // One library with all modules: a product for each would be a copy of the code for each.
    .library(
      name: "AudioToolbox", type: .dynamic,
      targets: [
        "AVFAudio", "AVFoundation", "AudioToolbox", "AudioUnit", "CoreAudio", "CoreAudioTypes",
        "CoreMIDI",
      ]),
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
      cSettings: [
        .enableWarning("function-effects"), .treatAllWarnings(as: .error), .unsafeFlags(dwarf4),
      ]),
    .target(
      name: "CPluginRunner", dependencies: ["CRealTime"],
      cSettings: [
        .enableWarning("function-effects"), .treatAllWarnings(as: .error), .unsafeFlags(dwarf4),
      ], linkerSettings: [.linkedLibrary("seccomp")]),
    .target(
      name: "CCallbackChecks", dependencies: ["CRealTime"],
      cSettings: [.treatAllWarnings(as: .error), .unsafeFlags(dwarf4)]),
    .target(name: "CFork", cSettings: [.treatAllWarnings(as: .error), .unsafeFlags(dwarf4)]),
    .systemLibrary(name: "CGlibc"),
    .systemLibrary(name: "CLibdispatch"),
    .systemLibrary(name: "CJack", pkgConfig: "jack", providers: [.apt(["libjack-jackd2-dev"])]),
    .target(name: "CBus", cSettings: [.treatAllWarnings(as: .error), .unsafeFlags(dwarf4)]),
    .target(name: "CCairo", cSettings: [.treatAllWarnings(as: .error), .unsafeFlags(dwarf4)]),
    .target(name: "CFFmpeg", cSettings: [.treatAllWarnings(as: .error), .unsafeFlags(dwarf4)]),
    .systemLibrary(
      name: "CLilv", pkgConfig: "lilv-0", providers: [.apt(["liblilv-dev", "lv2-dev"])]),
    .systemLibrary(name: "CSndfile", pkgConfig: "sndfile", providers: [.apt(["libsndfile1-dev"])]),
    .systemLibrary(
      name: "CRubberBand", pkgConfig: "rubberband", providers: [.apt(["librubberband-dev"])]),
    .systemLibrary(name: "CSoxr", pkgConfig: "soxr", providers: [.apt(["libsoxr-dev"])]),
    .systemLibrary(name: "CLiblo", pkgConfig: "liblo", providers: [.apt(["liblo-dev"])]),
    .systemLibrary(
      name: "CEBUR128", pkgConfig: "libebur128", providers: [.apt(["libebur128-dev"])]),

    // The house, from the ground up. Arrows point down only.
    .target(
      name: "System",
      dependencies: ["CFork", "CGlibc", .product(name: "Logging", package: "swift-log")],
      swiftSettings: strict),
    .target(name: "Timeline", swiftSettings: strict),
    .target(name: "RealTime", dependencies: ["CRealTime", "Timeline"], swiftSettings: strict),
    .target(
      name: "Server",
      dependencies: [
        "CJack", "CRealTime", "RealTime", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "Codecs",
      dependencies: [
        "CFFmpeg", "CRealTime",
        .target(name: "CRubberBand", condition: .when(traits: ["RubberBand"])), "CSoxr", "RealTime",
        "Timeline",
      ], swiftSettings: strict),
    .target(
      name: "Files",
      dependencies: ["CFFmpeg", "CSndfile", "Codecs", "RealTime", "System", "Timeline"],
      swiftSettings: strict),
    .target(name: "Pictures", dependencies: ["CCairo", "System"], swiftSettings: strict),
    .target(
      name: "Analysis",
      dependencies: [
        "CEBUR128", "CFFmpeg", "CRealTime", "Codecs", "Files", "Pictures", "RealTime",
      ], swiftSettings: strict),
    .target(
      name: "Graph",
      dependencies: [
        "CRealTime", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "Hardware",
      dependencies: [
        "CCallbackChecks", "CRealTime", "Graph", "RealTime", "Server", "System",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "MIDI",
      dependencies: [
        "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "PluginHost",
      dependencies: [
        "CLilv", "CPluginRunner", "CRealTime", "Graph", "Server", "System",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "AudioQueue",
      dependencies: [
        "CLibdispatch", "CRealTime", "Codecs", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "AudioUnits",
      dependencies: [
        "CRealTime", "Codecs", "Graph", "Hardware", "PluginHost", "RealTime", "Server", "System",
        "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "Music",
      dependencies: [
        "AudioUnits", "Files", "Hardware", "MIDI", "RealTime", "Server", "System",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    // Swift's view of the C module of the same name, which is the toolchain's: no module of a package may share
    // that with others.
    .target(
      name: "CoreFoundation", dependencies: ["CAudioToolbox"], packageAccess: false,
      swiftSettings: strict),
    .target(
      name: "AudioToolbox",
      dependencies: [
        "AudioQueue", "AudioUnits", "CAudioToolbox", "CFork", "CLibdispatch", "CRealTime", "Codecs",
        "CoreFoundation", "Files", "Hardware", "MIDI", "Music", "RealTime", "Server", "System",
        "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict,
      // CoreFoundation is in it. The library and the programs that call it share one.
      linkerSettings: [.linkedLibrary("Foundation")]),
    .target(name: "AudioUnit", dependencies: ["AudioToolbox"], swiftSettings: strict),
    .target(name: "CoreAudio", dependencies: ["AudioToolbox"], swiftSettings: strict),
    .target(name: "CoreAudioTypes", dependencies: ["AudioToolbox"], swiftSettings: strict),
    .target(name: "CoreMIDI", dependencies: ["AudioToolbox"], swiftSettings: strict),
    .target(
      name: "AVFAudio",
      dependencies: [
        "AudioQueue", "AudioToolbox", "AudioUnits", "CRealTime", "Codecs", "Files", "Graph",
        "Hardware", "MIDI", "Music",
        "PluginHost", "RealTime", "Server", "System", "Timeline",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(name: "AVFoundation", dependencies: ["AVFAudio"], swiftSettings: strict),
    .target(
      name: "Sessions",
      dependencies: [
        "AudioQueue", "CRealTime", "Codecs", "Files", "Graph", "Pictures", "PluginHost", "RealTime",
        "Server", "System", "Timeline",
      ], swiftSettings: strict),
    .target(
      name: "Control",
      dependencies: [
        "AudioQueue", "CBus", "CLiblo", "Graph", "PluginHost", "Server", "Sessions", "System",
        "Timeline", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .target(
      name: "Command",
      dependencies: [
        "Analysis", "AudioQueue", "AudioUnits", "CGlibc", "Codecs", "Control", "Files", "Graph",
        "MIDI", "Music", "Pictures", "PluginHost", "RealTime", "Server", "Sessions",
        "System", "Timeline",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),

    // No other target may depend on this one: the linker settings would apply to its program, too.
    .executableTarget(
      name: "cuejack", dependencies: ["Command"], swiftSettings: strict, linkerSettings: runtime),

    // Small programs to copy from. The C ones have Makefiles of their own.
    .executableTarget(
      name: "player-swift", dependencies: ["AudioToolbox"], path: "Examples/PlayerSwift",
      swiftSettings: relaxed),
    .executableTarget(
      name: "recorder-swift", dependencies: ["AudioToolbox"], path: "Examples/RecorderSwift",
      swiftSettings: relaxed),
    .executableTarget(
      name: "player-class-swift", dependencies: ["AudioToolbox"],
      path: "Examples/PlayerClassSwift", swiftSettings: relaxed),
    .executableTarget(
      name: "mixer-host-swift", dependencies: ["AudioToolbox"], path: "Examples/MixerHostSwift",
      swiftSettings: relaxed),

    // What `make bench` runs.
    .executableTarget(
      name: "cuejack-bench",
      dependencies: [
        "AVFAudio", "AudioQueue", "AudioToolbox", "AudioUnits", "CBench", "CJack", "CRealTime",
        "CTestSupport", "Codecs", "Files", "Graph", "Hardware", "Pictures", "PluginHost",
        "RealTime", "Server", "System",
        "TestSupport", "Timeline",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Benchmarks", exclude: ["C"], swiftSettings: relaxed),
    .target(name: "CBench", dependencies: ["CJack", "CLilv"], path: "Benchmarks/C"),

    // What `make fuzz` runs.
    .executableTarget(
      name: "cuejack-fuzz",
      dependencies: [
        "AudioToolbox", "CPluginRunner", "CRealTime", "Control", "Files", "Graph", "MIDI", "Music",
        "PluginHost", "Sessions", "System", "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Tests/Tools/Fuzz", swiftSettings: relaxed),

    // What `make rtsan` runs besides the command line.
    .executableTarget(
      name: "render-callback",
      dependencies: [
        "AVFAudio", "AudioToolbox", "CRealTime", "Graph", "Hardware", "PluginHost", "Server",
      ],
      path: "Tests/Tools/Gates/RenderCallback", swiftSettings: relaxed),

    // What the tests stand on, and the tests of that.
    .target(name: "CTestSupport", dependencies: ["CJack"], path: "Tests/Support/CTestSupport"),
    .target(name: "CProbe", path: "Tests/Support/CProbe"),
    .target(name: "TestBase", path: "Tests/Support/TestBase", swiftSettings: relaxed),
    .target(
      name: "TestSupport",
      dependencies: [
        "CJack", "CRealTime", "CTestSupport", "RealTime", "Server", "System", "TestBase",
        "Timeline",
      ],
      path: "Tests/Support/TestSupport", exclude: ["PipeWire"], swiftSettings: relaxed),
    .executableTarget(
      name: "jack-peer", dependencies: ["CJack", "CTestSupport"], path: "Tests/Support/JackPeer",
      cSettings: [.treatAllWarnings(as: .error)], linkerSettings: [.linkedLibrary("m")]),
    // A program under session managers and remote control.
    .executableTarget(
      name: "managed-session", dependencies: ["Control", "Server", "System"],
      path: "Tests/Support/ManagedSession", swiftSettings: relaxed),
    .testTarget(
      name: "SupportTests", dependencies: ["TestSupport"], path: "Tests/Support/SupportTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "ProbeTests", dependencies: ["CProbe", "TestSupport"], path: "Tests/Support/ProbeTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "TimelineTests", dependencies: ["TestBase", "Timeline"],
      path: "Tests/Unit/TimelineTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "RealTimeTests",
      dependencies: ["CProbe", "CRealTime", "RealTime", "Server", "TestSupport", "Timeline"],
      path: "Tests/Unit/RealTimeTests", exclude: ["outside-symbols.txt"], swiftSettings: relaxed),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "CJack", "RealTime", "Server", "System", "TestSupport", "Timeline",
      ],
      path: "Tests/Unit/ServerTests", swiftSettings: relaxed),
    .testTarget(
      name: "PluginHostTests",
      dependencies: [
        "CLilv", "CPluginRunner", "CProbe", "CRealTime", "Graph", "PluginHost", "Server",
        "System", "TestSupport",
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
      name: "HardwareTests",
      dependencies: ["CProbe", "CRealTime", "Hardware", "RealTime", "Server", "TestSupport"],
      path: "Tests/Unit/HardwareTests", swiftSettings: relaxed),
    .testTarget(
      name: "AudioUnitsTests",
      dependencies: [
        "AudioUnits", "CProbe", "CRealTime", "Graph", "Hardware", "PluginHost", "RealTime",
        "Server", "System", "TestSupport",
      ],
      path: "Tests/Unit/AudioUnitsTests", swiftSettings: relaxed),
    .testTarget(
      name: "MusicTests",
      dependencies: [
        "AudioUnits", "CProbe", "CRealTime", "Files", "Hardware", "Music", "RealTime",
        "TestSupport",
      ],
      path: "Tests/Unit/MusicTests", swiftSettings: relaxed),
    .target(
      name: "SessionSupport", dependencies: ["PluginHost", "Sessions", "TestSupport"],
      path: "Tests/Support/SessionSupport", swiftSettings: relaxed),
    .testTarget(
      name: "SessionsTests",
      dependencies: [
        "AudioQueue", "CRealTime", "Codecs", "FileSupport", "Files", "Graph", "Pictures",
        "PluginHost", "RealTime", "Server", "SessionSupport", "Sessions", "System", "TestSupport",
        "session-editor",
      ],
      path: "Tests/Unit/SessionsTests", swiftSettings: relaxed),
    .testTarget(
      name: "ControlTests",
      dependencies: [
        "Analysis", "CJack", "CLiblo", "Control", "FileSupport", "Server", "SessionSupport",
        "Sessions",
        "System", "TestSupport", "Timeline", "managed-session",
      ],
      path: "Tests/Unit/ControlTests", exclude: ["Faults/faulty.c", "Faults/faults.c"],
      swiftSettings: relaxed),
    // What the tests of sessions kill.
    .executableTarget(
      name: "session-editor", dependencies: ["Sessions"], path: "Tests/Support/SessionEditor",
      swiftSettings: relaxed),
    .testTarget(
      name: "PluginsTests", dependencies: ["CLilv", "CProbe", "TestSupport"],
      path: "Tests/Plugins/PluginsTests", swiftSettings: relaxed),
    .testTarget(
      name: "CodecsTests", dependencies: ["CFFmpeg", "Codecs", "FileSupport", "RealTime"],
      path: "Tests/Unit/CodecsTests", swiftSettings: relaxed),
    .testTarget(
      name: "AudioQueueTests",
      dependencies: [
        "AudioQueue", "AudioToolbox", "CProbe", "CRealTime", "Codecs", "CoreFoundation", "Graph",
        "PluginHost", "RealTime", "Server",
        "System", "TestSupport", "Timeline",
      ],
      path: "Tests/Unit/AudioQueueTests", swiftSettings: relaxed),
    .testTarget(
      name: "PipeWireTests",
      dependencies: ["Server", "TestSupport", "jack-peer", "managed-session", "player-swift"],
      path: "Tests/Server/PipeWireTests", swiftSettings: relaxed),
    .testTarget(
      name: "HouseTests", dependencies: ["TestSupport"], path: "Tests/Project/HouseTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "DocsTests", dependencies: ["TestSupport"], path: "Tests/Project/DocsTests",
      swiftSettings: relaxed),
    .testTarget(
      name: "CommandTests",
      dependencies: ["CTestSupport", "Files", "MIDI", "Server", "TestSupport", "managed-session"],
      path: "Tests/Command/CommandTests", swiftSettings: relaxed),
    .testTarget(
      name: "APITests", dependencies: ["TestSupport"], path: "Tests/API/APITests",
      exclude: ["Programs", "forms.md", "manners.md", "names.md", "semantics.md"],
      swiftSettings: relaxed),
    // Programs as strangers write them, in Tests/API/Clients, and what they play and record.
    .testTarget(
      name: "ClientTests", dependencies: ["TestSupport", "jack-peer"],
      path: "Tests/API/ClientTests", swiftSettings: relaxed),

    // Sound files, their C functions, the headers and the command line.
    .target(
      name: "FileSupport", dependencies: ["CSndfile", "TestBase"],
      path: "Tests/Support/FileSupport", swiftSettings: relaxed),
    .testTarget(
      name: "FilesTests",
      dependencies: ["CSndfile", "Codecs", "Files", "FileSupport", "RealTime", "System"],
      path: "Tests/Unit/FilesTests", swiftSettings: relaxed),
    .testTarget(
      name: "AnalysisTests",
      dependencies: [
        "Analysis", "Codecs", "FileSupport", "Files", "Pictures", "RealTime", "Sessions", "System",
      ], path: "Tests/Unit/AnalysisTests", swiftSettings: relaxed),
    .testTarget(
      name: "AudioToolboxTests",
      dependencies: [
        "AudioToolbox", "AudioUnits", "Codecs", "CoreFoundation", "FileSupport", "Files",
        "Hardware", "RealTime", "TestSupport",
      ],
      path: "Tests/Unit/AudioToolboxTests", swiftSettings: relaxed),
    .testTarget(
      name: "MIDITests",
      dependencies: ["CJack", "CProbe", "CTestSupport", "MIDI", "Server", "System", "TestSupport"],
      path: "Tests/Unit/MIDITests", swiftSettings: relaxed),
    .testTarget(
      name: "AVFAudioTests",
      dependencies: [
        "AVFAudio", "AVFoundation", "AudioToolbox", "AudioUnits", "CProbe", "CoreFoundation",
        "Hardware", "MIDI", "Server", "TestSupport",
      ],
      path: "Tests/API/AVFAudioTests", exclude: ["members.md"], swiftSettings: relaxed),
    // A program written for Apple's systems, word for word.
    .executableTarget(
      name: "swift-client", dependencies: ["AudioToolbox", "CoreFoundation"],
      path: "Tests/API/SwiftClient",
      swiftSettings: relaxed),
    .testTarget(
      name: "SwiftClientTests", dependencies: ["TestSupport", "swift-client"],
      path: "Tests/API/SwiftClientTests", swiftSettings: relaxed),
    .testTarget(
      name: "HeadersTests", dependencies: ["FileSupport"], path: "Tests/API/HeadersTests",
      exclude: ["Programs"],
      swiftSettings: relaxed),
    .testTarget(
      name: "CuejackTests", dependencies: ["Codecs", "FileSupport", "Files", "RealTime"],
      path: "Tests/Command/CuejackTests", swiftSettings: relaxed),
    .testTarget(
      name: "FuzzTests", dependencies: ["TestSupport", "cuejack-fuzz"],
      path: "Tests/Project/FuzzTests", swiftSettings: relaxed),
    .testTarget(
      name: "BenchmarkTests", dependencies: ["TestSupport", "cuejack-bench"],
      path: "Tests/Project/BenchmarkTests", swiftSettings: relaxed),
    .testTarget(
      name: "ExamplesTests",
      dependencies: [
        "TestSupport", "jack-peer", "mixer-host-swift", "player-class-swift", "player-swift",
        "recorder-swift",
      ], path: "Tests/Project/ExamplesTests", swiftSettings: relaxed),
  ]
)
