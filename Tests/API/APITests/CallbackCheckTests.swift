import Foundation
import TestSupport
import Testing

/// `CUEJACK_CHECK_CALLBACKS` and the callbacks of `checked.c`, on a server of its own.
@Suite(.tags(.server, .program)) struct CallbackCheckTests {
  /// Runs the program, and returns what it prints on standard error.
  private func messages(_ arguments: [String] = [], checks: String?) throws -> [String] {
    let server = try JackDaemon(period: 4096, synchronous: false)
    let binary = try ProgramBuilds.shared.get().build("checked.c", isSanitized: false)
    var environment = [
      "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
    ]
    environment["CUEJACK_CHECK_CALLBACKS"] = checks
    let result = try run(binary.path, arguments, environment: environment)
    expectTrue(result.status == 0 && result.output == "done\n", "\(result)")
    return result.errors.split(separator: "\n").map(String.init)
  }

  @Test(arguments: [nil, "0"]) func nothingIsSaidWithoutTheVariable(checks: String?) throws {
    try expectEqual(messages(checks: checks), [])
  }

  /// Once as the program ends, and once while it runs.
  @Test(arguments: [[], ["for-good"]]) func callbacksAreNamedByWhatTheyDid(arguments: [String])
    throws
  {
    let messages = try messages(arguments, checks: "1")
    let expected = [
      "allocates": ["malloc", "free"], "locks": ["pthread_mutex_lock"], "sleeps": ["nanosleep"],
      "writes": ["write"],
    ]
    for (callback, functions) in expected {
      let lines = messages.filter { $0.hasPrefix("cuejack: the callback \(callback) of /") }
      expectTrue(!lines.isEmpty, "\(callback): \(messages)")
      // Three calls of each callback and a few more seconds: not a line for each call.
      expectTrue(lines.count <= 8, "\(messages)")
      for line in lines {
        expectTrue(line.contains("/checked must not"), "\(line)")
        let named = line.matches(of: #/called (\w+) (?:once|\d+ times)/#).map {
          String($0.output.1)
        }
        expectEqual(named, functions, "\(line)")
        expectEqual(line.contains("was late"), (callback == "sleeps"), "\(line)")
      }
    }
    let others = messages.filter { line in
      !expected.keys.contains { line.hasPrefix("cuejack: the callback \($0) of ") }
    }
    expectEqual(others, [])
    // 4096 frames at 48 kHz, as JACK measures them, which is up to a few milliseconds off on a busy machine. The
    // callback sleeps for 100 ms, and takes longer there.
    let late = messages.filter { $0.contains("was late") }
    let words = #/took up to [1-9]\d{2,}\.\d ms of [89]\d\.\d ms/#
    expectTrue(late.allSatisfy { $0.contains(words) }, "\(late)")
  }
}
