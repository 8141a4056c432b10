import Foundation
import TestSupport
import Testing

/// The installed library as a file: its name, its symbol versions, its debug information, and the package
/// that CMake finds.
@Suite(.tags(.server, .program)) struct InstalledLibraryTests {
  /// A program that prints two numbers.
  private static let program = """
    #include <AudioToolbox/AudioToolbox.h>
    #include <stdio.h>
    int main(void) {
      char text[4];
      printf("%zu %d\\n", strlcpy(text, "abcdef", sizeof text), AudioGetCurrentHostTime() == 42);
      return 0;
    }

    """

  /// Every function of the headers has a version, and nothing else but the Swift module is exported. A function that misses
  /// here belongs into `AudioToolbox.map`.
  @Test func everyFunctionHasAVersion() throws {
    // Headers for a newer glibc leave its functions out.
    let declared = try PublicHeaders.functions().union(["strlcpy", "strlcat"])
    try Installation.with { installation in
      let dynamic = try run("readelf", ["-d", installation.library.path])
      expectTrue(dynamic.output.contains("Library soname: [libAudioToolbox.so.0]"))
      let symbols = try run(
        "nm", ["-D", "--defined-only", "--with-symbol-versions", installation.library.path])
      let visible = symbols.output.split(separator: "\n").compactMap { line -> Substring? in
        let fields = line.split(separator: " ")
        // An upper-case letter is a symbol that others see; A is the name of a version.
        guard fields.count > 2, fields[1] != "A", fields[1].allSatisfy(\.isUppercase) else {
          return nil
        }
        return fields[2]
      }
      // Symbols of the Swift modules that programs import, and of none below them.
      let swift = visible.filter { $0.hasPrefix("$s") }
      expectTrue(swift.count > 100 && swift.allSatisfy { $0.hasSuffix("@@CUEJACK_SWIFT_0.1") })
      let exported = visible.filter { !$0.hasPrefix("$s") }
      let named = Set(exported.map { String($0.split(separator: "@")[0]) })
      expectEqual(named.subtracting(declared).sorted(), [], "exported, but not declared")
      expectEqual(declared.subtracting(named).sorted(), [], "declared, but not in AudioToolbox.map")
      let others = exported.filter { !$0.hasSuffix("@@CUEJACK_0.1") }
      expectEqual(others, [], "of another version")
    }
  }

  /// Players load plug-ins that use the library, and close them while threads of the library still end.
  @Test func aPluginThatPlayedCanBeClosed() throws {
    let plugin = """
      #include <AudioToolbox/AudioToolbox.h>
      #include <unistd.h>
      static int calls;
      static OSStatus render(void *d, AudioUnitRenderActionFlags *f, const AudioTimeStamp *t, UInt32 b,
                             UInt32 n, AudioBufferList *list) {
        for (UInt32 i = 0; i < list->mNumberBuffers; i++)
          __builtin_memset(list->mBuffers[i].mData, 0, list->mBuffers[i].mDataByteSize);
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
        return noErr;
      }
      int play(void) {
        AudioComponentDescription d = {kAudioUnitType_Output, kAudioUnitSubType_DefaultOutput, 'appl', 0, 0};
        AURenderCallbackStruct r = {render, NULL};
        AudioUnit unit;
        if (AudioComponentInstanceNew(AudioComponentFindNext(NULL, &d), &unit)) return 1;
        if (AudioUnitSetProperty(unit, kAudioUnitProperty_SetRenderCallback, 1, 0, &r, sizeof r)) return 2;
        if (AudioUnitInitialize(unit) || AudioOutputUnitStart(unit)) return 3;
        for (int i = 0; i < 10000 && __atomic_load_n(&calls, __ATOMIC_RELAXED) < 4; i++) usleep(1000);
        return AudioComponentInstanceDispose(unit) || calls < 4 ? 4 : 0;
      }

      """
    let host = """
      #include <dlfcn.h>
      #include <stdio.h>
      int main(int count, char **arguments) {
        for (int i = 0; i < 3; i++) {
          void *plugin = dlopen(arguments[1], RTLD_NOW);
          if (plugin == NULL) return puts(dlerror());
          printf("%d\\n", ((int (*)(void))dlsym(plugin, "play"))());
          dlclose(plugin);
        }
        return 0;
      }

      """
    let server = try JackDaemon()
    try Installation.with { installation in
      let library = try installation.build(
        plugin, options: ["-shared", "-fPIC"], as: "plugin.so")
      let source = installation.folder.appendingPathComponent("host.c")
      let program = installation.folder.appendingPathComponent("host").path
      try Data(host.utf8).write(to: source)
      let built = try run("cc", [source.path, "-o", program, "-ldl"])
      expectEqual(built.status, 0, "\(built.errors)")
      for _ in 1...3 {
        let result = try run(
          program, [library],
          environment: ["JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1"])
        expectTrue(result.status == 0 && result.output == "0\n0\n0\n", "\(result)")
      }
    }
  }

  /// A program that was linked with this release runs with the next one; one that needs the next release
  /// is refused by this one.
  @Test func aProgramRunsWithTheNextRelease() throws {
    try Installation.with { installation in
      let binary = try installation.build(Self.program)
      let needs = try run("readelf", ["-d", binary])
      expectTrue(needs.output.contains("Shared library: [libAudioToolbox.so.0]"))
      try expectEqual(run(binary).output, "6 0\n")

      // The next release has a new function, and here an easy result.
      let next = installation.folder.appendingPathComponent("next")
      try FileManager.default.createDirectory(at: next, withIntermediateDirectories: true)
      let map = next.appendingPathComponent("next.map").path
      try Data(
        """
        CUEJACK_0.1 { global: AudioGetCurrentHostTime; strlcpy; local: *; };
        CUEJACK_0.2 { global: AudioNewFunction; } CUEJACK_0.1;

        """.utf8
      ).write(to: URL(fileURLWithPath: map))
      let library = try installation.build(
        """
        unsigned long AudioGetCurrentHostTime(void) { return 42; }
        unsigned long strlcpy(char *to, const char *from, unsigned long size) { return to && from ? size : 0; }
        int AudioNewFunction(void) { return 0; }

        """,
        options: [
          "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libAudioToolbox.so.0",
          "-Wl,--version-script=\(map)",
        ], as: "next/libAudioToolbox.so.0")
      let later = try run(binary, environment: ["LD_LIBRARY_PATH": next.path])
      expectEqual(later.output, "4 1\n", "\(later)")

      let newer = try installation.build(
        "int AudioNewFunction(void);\nint main(void) { return AudioNewFunction(); }\n",
        options: [library], as: "newer")
      try expectEqual(run(newer, environment: ["LD_LIBRARY_PATH": next.path]).status, 0)
      let refused = try run(newer, environment: ["LD_LIBRARY_PATH": ""])
      expectTrue(refused.status != 0 && refused.errors.contains("CUEJACK_0.2"), "\(refused)")
    }
  }

  /// glibc has had strlcpy since 2.38, under a version of its own. A program that was linked with that one
  /// gets it, even if this library is searched first.
  @Test func theCLibrarysFunctionsKeepTheirPlace() throws {
    try Installation.with { installation in
      let map = installation.folder.appendingPathComponent("other.map").path
      try Data("OTHER_2.38 { global: strlcpy; local: *; };\n".utf8)
        .write(to: URL(fileURLWithPath: map))
      let other = try installation.build(
        "unsigned long strlcpy(char *to, const char *from, unsigned long size) { return to && from ? size + 1000 : 0; }\n",
        options: [
          "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libother.so",
          "-Wl,--version-script=\(map)",
        ], as: "libother.so")
      let program = """
        #include <stdio.h>
        unsigned long strlcpy(char *, const char *, unsigned long);
        int main(void) {
          char text[4];
          return printf("%lu\\n", strlcpy(text, "abcdef", sizeof text)) < 0;
        }

        """
      let binary = try installation.build(program, options: ["-fno-builtin", other], as: "bound")
      let result = try run(
        binary,
        environment: [
          "LD_LIBRARY_PATH": installation.folder.path, "LD_PRELOAD": installation.library.path,
        ])
      expectEqual(result.output, "1004\n", "\(result)")
    }
  }

  /// Debuggers and valgrind find the debug information beside the stripped library.
  @Test func theLibraryIsStripped() throws {
    try Installation.with { installation in
      let sections = try run("readelf", ["-S", "--wide", installation.library.path]).output
      expectTrue(!sections.contains(".debug_info") && !sections.contains(".symtab"), "\(sections)")
      expectTrue(sections.contains(".gnu_debuglink") && sections.contains(".note.gnu.build-id"))
      let folder = installation.prefix.appendingPathComponent("lib/.debug")
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      try require(names.count == 1)
      let beside = folder.appendingPathComponent(names[0]).path
      expectTrue(try run("readelf", ["-S", "--wide", beside]).output.contains(".debug_info"))

      // The program's leak is found, and the library's calls have their source lines.
      let program = """
        #include <AudioToolbox/AudioToolbox.h>
        #include <stdlib.h>
        int main(void) {
          UInt32 size = 0;
          char *volatile lost = malloc(17);
          lost = lost ? NULL : (char *)&size;
          return AudioFileGetGlobalInfoSize(kAudioFileGlobalInfo_ReadableTypes, 0, NULL, &size);
        }

        """
      // Debian 12's valgrind reads DWARF 4, which the library has.
      let binary = try installation.build(program, options: ["-gdwarf-4"])
      let result = try run(
        "valgrind", ["--leak-check=full", "--show-leak-kinds=all", "--num-callers=40", binary],
        environment: ["LD_LIBRARY_PATH": ""])
      expectTrue(
        result.status == 0 && result.errors.contains("definitely lost: 17 bytes in 1 blocks"),
        "\(result)")
      expectTrue(
        result.errors.contains("(AudioFileGlobalInfo.swift:"), "\(result.errors.suffix(3000))")
      expectTrue(
        !result.errors.contains("debuginfo reader") && !result.errors.contains("unhandled"))
    }
  }

  @Test func cmakeFindsThePackage() throws {
    try Installation.with { installation in
      let project = installation.folder.appendingPathComponent("project")
      try FileManager.default.createDirectory(at: project, withIntermediateDirectories: true)
      func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: project.appendingPathComponent(name))
      }
      try write(Self.program, to: "one.c")
      try write(Self.program, to: "two.cpp")
      try write(
        """
        cmake_minimum_required(VERSION 3.16)
        project(programs C CXX)
        set(CMAKE_C_STANDARD 11)
        set(CMAKE_C_EXTENSIONS OFF)
        find_package(AudioToolbox ${WANTED} REQUIRED)
        add_executable(one one.c)
        add_executable(two two.cpp)
        foreach(program one two)
          target_link_libraries(${program} PRIVATE AudioToolbox::AudioToolbox)
          target_compile_options(${program} PRIVATE -Wall -Wextra -Werror)
        endforeach()
        install(TARGETS one two DESTINATION bin)

        """, to: "CMakeLists.txt")
      let clang = try installation.flags("--variable=clang")[0]
      func configure(_ folder: String, _ c: String, _ cxx: String, wanted: String = "0.1") throws
        -> CommandResult
      {
        try run(
          "cmake",
          [
            "-S", project.path, "-B", project.appendingPathComponent(folder).path,
            "-DCMAKE_PREFIX_PATH=\(installation.prefix.path)", "-DWANTED=\(wanted)",
            "-DCMAKE_C_COMPILER=\(c)", "-DCMAKE_CXX_COMPILER=\(cxx)",
          ])
      }
      let configured = try configure("build", clang, clang + "++")
      try require(configured.status == 0, "\(configured.output)\(configured.errors)")
      let build = project.appendingPathComponent("build").path
      let made = try run("cmake", ["--build", build])
      try require(made.status == 0, "\(made.output)\(made.errors)")
      let moved = project.appendingPathComponent("moved").path
      try expectEqual(run("cmake", ["--install", build, "--prefix", moved]).status, 0)
      for name in ["build/one", "build/two", "moved/bin/one", "moved/bin/two"] {
        let result = try run(
          project.appendingPathComponent(name).path, environment: ["LD_LIBRARY_PATH": ""])
        expectEqual(result.output, "6 0\n", "\(name) \(result)")
      }

      let later = try configure("later", clang, clang + "++", wanted: "0.2")
      expectTrue(later.status != 0 && later.errors.contains("version: 0.1.0"), "\(later.errors)")
      // A compiler without blocks.
      let plain = try configure("plain", "/usr/bin/gcc", "/usr/bin/g++")
      expectTrue(plain.status != 0, "\(plain.output)")
      let words = plain.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      expectTrue(words.contains("cannot read the headers of AudioToolbox"), "\(plain.errors)")
      expectTrue(words.contains("-DCMAKE_C_COMPILER=\(clang)"), "\(plain.errors)")
    }
  }
}
