import TestSupport
import Testing

/// Many queues on a running server start on one frame and stay on it, whatever cycles come late or not
/// at all. Ten minutes of it run in `make proof`, a part of that in `make test`.
@Suite(
  .tags(.server, .program), .serialized,
  .disabled(if: isSanitized, "a sanitized cycle takes too long"))
struct LockstepTests {
  @Test func sixtyClientsStayOnOneFrame() throws {
    try count(
      ["own", "6", "10"], seconds: proof == nil ? 20 : 600, interruptions: proof == nil ? 4 : 20,
      passes: ["all on one frame"])
  }

  @Test func aThousandQueuesOfOneClientStayOnOneFrame() throws {
    try count(
      ["shared", "1", "1000"], seconds: proof == nil ? 5 : 600,
      interruptions: proof == nil ? 4 : 20, passes: ["all on one frame", "all disposed of"])
  }

  private func count(_ queues: [String], seconds: Int, interruptions: Int, passes: [String]) throws
  {
    let binary = try ProgramBuilds.shared.get().build("lockstep.c", isSanitized: false)
    // A jackd that hangs when its mode changes in the middle of xruns, whose frame counter jumps by
    // minutes then, or that does not answer for seconds proves nothing either way.
    var result = CommandResult(status: 3, output: "", errors: "")
    for attempt in 1...3
    where result.status == 3
      || result.errors.contains("has not answered") && result.output.hasPrefix("ok \(passes[0])\n")
    {
      if attempt > 1 { print("lockstep: again, on another server: \(result.errors.suffix(80))") }
      // Cycles must be able to come late.
      let server = try JackDaemon(
        period: 1024, playbackPorts: 0, maximumPorts: 4096, synchronous: false)
      let process = try require(server.processIdentifier)
      result = try run(
        binary.path, queues + ["\(seconds)", "\(interruptions)", "\(process)"],
        environment: [
          "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
          "CUEJACK_LOG": "warning",
        ], timeout: proof == nil ? 300 : 1200)
    }
    // What was counted.
    for line in result.errors.split(separator: "\n") where line.hasPrefix("lockstep: ") {
      print(line)
    }
    expectTrue(
      result.status == 0 && result.output == passes.map { "ok \($0)\n" }.joined(),
      "\(result.status) \(result.output)\(result.errors.suffix(2000))")
  }
}
