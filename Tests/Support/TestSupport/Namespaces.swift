import Foundation
import System

/// Two machines, each in a network namespace of its own, joined by a cable. This takes root, and `ip`.
package enum Namespaces {
  /// The addresses of the two machines.
  package static let (first, second) = ("10.77.0.1", "10.77.0.2")

  /// Whether this process may make them.
  package static let arePermitted: Bool = {
    guard getuid() == 0, findProgram("ip") != nil else { return false }
    let name = "cuejack-try-\(getpid())"
    defer { _ = try? run("ip", ["netns", "del", name]) }
    return (try? run("ip", ["netns", "add", name]))?.status == 0
  }()

  /// Runs `body` with the names of two namespaces whose machines see each other.
  package static func with(_ body: (String, String) throws -> Void) throws {
    let (a, b) = ("cuejack-a-\(getpid())", "cuejack-b-\(getpid())")
    defer {
      for name in [a, b] { _ = try? run("ip", ["netns", "del", name]) }
    }
    for words in [
      "netns add \(a)", "netns add \(b)",
      "link add cable netns \(a) type veth peer name cable netns \(b)",
      "-n \(a) addr add \(first)/24 dev cable", "-n \(b) addr add \(second)/24 dev cable",
      "-n \(a) link set lo up", "-n \(b) link set lo up",
      "-n \(a) link set cable up", "-n \(b) link set cable up",
    ] {
      let result = try run("ip", words.split(separator: " ").map(String.init))
      if result.status != 0 { throw SupportError("ip \(words): \(result.errors)") }
    }
    try body(a, b)
  }

  /// Joins or parts the two machines of `with`, given the name of one.
  package static func setCable(of name: String, isUp: Bool) throws {
    let result = try run("ip", ["-n", name, "link", "set", "cable", isUp ? "up" : "down"])
    if result.status != 0 { throw SupportError("ip: \(result.errors)") }
  }
}
