import TestSupport
import Testing

@testable import Server

/// The lines of jackd's output that tell why it ended.
@Suite struct JackdReasonTests {
  private static let banner = """
    jackdmp 1.9.21
    Copyright 2001-2005 Paul Davis and others.
    jackdmp comes with ABSOLUTELY NO WARRANTY
    This is free software, and you are welcome to redistribute it
    under certain conditions; see the file COPYING for details

    """

  @Test(arguments: [
    "Unknown driver \"nonsense\"", "Too many servers already active",
    "control open \"hw:9\" (No such file or directory)",
    "The playback device \"hw:0\" is already in use.",
  ])
  func theErrorIsTold(_ line: String) {
    let failure = "\(line)\nCannot initialize driver\nFailed to open server\n"
    expectEqual(StartedServer.reason(in: failure + Self.banner), line)
    expectEqual(StartedServer.reason(in: Self.banner + failure), line)
  }

  @Test func aUsageIsNoReason() {
    expectEqual(
      StartedServer.reason(in: "unknown option character x\n\(Self.banner)Usage: jackdmp [ -r ]\n"),
      "unknown option character x")
    expectTrue(StartedServer.reason(in: "\nUsage: jackdmp\n").contains("command line"))
  }
}
