import Foundation
import System
import TestSupport

/// The machine on which the numbers were measured.
struct Machine: Codable {
  var processor: String
  var cores: Int
  var kernel: String

  init() {
    let facts = text(of: URL(fileURLWithPath: "/proc/cpuinfo"))
    processor =
      facts.firstMatch(of: #/(?m)^(?:model name|Model)\s*: (.*)$/#).map { String($0.output.1) }
      ?? "unknown"
    cores = ProcessInfo.processInfo.activeProcessorCount
    kernel = text(of: URL(fileURLWithPath: "/proc/sys/kernel/osrelease"))
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// Versions of the measured programs.
struct Versions: Codable {
  var jackd: String
  var sndfileJackplay: String
  /// True for an optimised build.
  var isOptimised: Bool

  init() throws {
    jackd = try Self.version(of: "jackd", "--version", #/jackdmp (?:version )?(\d[\w.]*)/#)
    sndfileJackplay = try Self.version(of: "sndfile-jackplay", "--help", #/(libsndfile-[\d.]*\d)/#)
    #if DEBUG
      isOptimised = false
    #else
      isOptimised = true
    #endif
  }

  private static func version(
    of program: String, _ option: String, _ pattern: Regex<(Substring, Substring)>
  ) throws -> String {
    let result = try TestSupport.run(program, [option])
    return (result.output + result.errors).firstMatch(of: pattern).map { String($0.output.1) }
      ?? "unknown"
  }
}

/// Returns true if a program is installed. Prints a message if it is not and `telling` is true.
func isThere(_ program: String, telling: Bool = false) -> Bool {
  if findProgram(program) != nil { return true }
  if telling {
    progress("there is no \(program) here: it is left out (Debian package \(program))")
  }
  return false
}

/// Calls `body` while a program that never waits runs on every core, if `isBusy`.
func withBusyCores<R>(_ isBusy: Bool, _ body: () throws -> R) throws -> R {
  try withTemporaryFolder { folder in
    let loads = try (0..<(isBusy ? ProcessInfo.processInfo.activeProcessorCount : 0)).map { i in
      try Child(
        "/bin/sh", ["-c", "while :; do :; done"], output: folder.appendingPathComponent("\(i)"))
    }
    defer { for load in loads { load.end() } }
    return try body()
  }
}
