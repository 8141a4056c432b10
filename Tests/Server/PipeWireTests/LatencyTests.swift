import Foundation
import TestSupport
import Testing

/// The port latencies that PipeWire's programs are told.
@Suite(.tags(.pipeWire, .program), .serialized) struct PipeWireLatencyTests {
  @Test(arguments: Sink.allCases) func theLatencyOfPluginsIsShown(sink: Sink) throws {
    try withTemporaryFolder { folder in
      let file = try WaveFile("a.wav", in: folder, frames: 96_000)
      let stage = try Stage(sink)
      let player = try Playing(
        [file.path, "--plugin", "urn:cuejack:plugins:limiter"], in: folder,
        environment: stage.daemon.environment.merging(try pluginEnvironment()) { $1 })
      try player.wait(for: "240 frames of latency")
      try player.wait(for: "start frame")
      // The event thread sets the latencies a little later.
      var lines = ""
      for _ in 0..<50 where !lines.contains("port capture latency = [ 240 240 ]") {
        usleep(20_000)
        lines = try stage.daemon.run("jack_lsp", ["-l", "cuejack-play:out_2"]).output
      }
      expectTrue(lines.contains("port capture latency = [ 240 240 ]"), "\(lines)")
      expectSuccess(try player.result())
    }
  }

  /// Takes its time to set a latency, and makes a note of it.
  private static let slowFunction = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>

    void jack_port_set_latency_range(void *port, int mode, void *range) {
      void (*function)(void *, int, void *) = dlsym(RTLD_NEXT, "jack_port_set_latency_range");
      FILE *notes = fopen(getenv("NOTES"), "a");
      fputs("set\\n", notes);
      fclose(notes);
      usleep(60000);
      function(port, mode, range);
    }
    """

  /// PipeWire leaves out the process callback while one of the client's notification callbacks runs.
  @Test func latenciesAreSetOutsideOfJacksCallbacks() throws {
    try withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("slow.c")
      let library = folder.appendingPathComponent("slow.so")
      let notes = folder.appendingPathComponent("notes")
      try Self.slowFunction.write(to: source, atomically: true, encoding: .utf8)
      let built = try run(
        SwiftToolchain().clang, ["-shared", "-fPIC", source.path, "-o", library.path])
      try require(built.status == 0, "\(built)")
      let file = try WaveFile("a.wav", in: folder, frames: 192_000)
      let daemon = try PipeWireDaemon()
      let environment = daemon.environment.merging(try pluginEnvironment()) { $1 }
      let player = try Playing(
        [file.path, "--plugin", "urn:cuejack:plugins:limiter"], in: folder,
        environment: environment.merging(["LD_PRELOAD": library.path, "NOTES": notes.path]) { $1 })
      try player.wait(for: "start frame")
      usleep(500_000)
      let before = text(of: notes).count
      // Each connection has the library ask for the latencies again.
      let listener = try JackPeer.capture(["cuejack-play:out_1", "cuejack-play:out_2"], on: daemon)
      usleep(500_000)
      expectTrue(text(of: notes).count > before)
      _ = try listener.end()
      expectSuccess(try player.result())
    }
  }
}
