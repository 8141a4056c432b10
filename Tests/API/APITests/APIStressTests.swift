import Foundation
import TestSupport
import Testing

/// Random calls through the C interface on a running server. `CUEJACK_STRESS_SEED` and
/// `CUEJACK_STRESS_CALLS` have the same meaning as in `StressTests`.
@Suite(.tags(.server, .program)) struct APIStressTests {
  @Test(arguments: [false, true]) func randomCallsAndRaces(isSanitized: Bool) throws {
    let settings = ProcessInfo.processInfo.environment
    let seed = settings["CUEJACK_STRESS_SEED"] ?? "\(UInt64.random(in: 1...999_999))"
    let calls =
      settings["CUEJACK_STRESS_CALLS"] ?? (isSanitized || proof == nil ? "10000" : "200000")
    print("stress.c: CUEJACK_STRESS_SEED=\(seed) CUEJACK_STRESS_CALLS=\(calls)")
    let server = try JackDaemon(period: 1024)
    let binary = try ProgramBuilds.shared.get().build("stress.c", isSanitized: isSanitized)
    let result = try run(
      binary.path, [seed, calls],
      environment: [
        "JACK_DEFAULT_SERVER": server.name, "JACK_NO_START_SERVER": "1", "LD_LIBRARY_PATH": "",
        "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
      ], timeout: proof == nil ? 200 : 900)
    for line in result.errors.split(separator: "\n") where line.hasPrefix("stress: ") {
      print(line)
    }
    expectTrue(
      result.status == 0 && result.output == "ok random calls\nok races\n",
      "seed \(seed): \(result.status) \(result.output)\(result.errors.suffix(3000))")
    expectTrue(!result.errors.contains("Sanitizer"), "\(result.errors.suffix(3000))")
  }
}
