import CPluginRunner
import CRealTime
import Foundation
import Graph
import PluginHost
import Synchronization
import TestSupport
import Testing

/// A plugin's process that writes arbitrary data into the memory shared with its host.
@Suite(.serialized) struct HostileProcessTests {
  /// A URID table in memory that may be shared with another process.
  private final class Table {
    static let capacity = 64
    static let textBytes = 4096
    var urids = cue_urids()

    /// - Parameter other: The table of another process with which to share memory; nil for none.
    init(sharedWith other: Table? = nil) {
      func zeros<Element>(_ count: Int, of type: Element.Type) -> UnsafeMutablePointer<Element> {
        calloc(count, MemoryLayout<Element>.stride)!.assumingMemoryBound(to: type)
      }
      urids.capacity = UInt32(Self.capacity)
      urids.text_bytes = UInt32(Self.textBytes)
      urids.slots = other?.urids.slots ?? zeros(Self.capacity, of: UInt32.self)
      urids.text = other?.urids.text ?? zeros(Self.textBytes, of: CChar.self)
      urids.text_used = other?.urids.text_used ?? zeros(1, of: UInt64.self)
      urids.own_slots = zeros(Self.capacity, of: UInt32.self)
      urids.own_text = zeros(Self.textBytes, of: CChar.self)
      ownsShared = other == nil
    }

    private let ownsShared: Bool
    deinit {
      if ownsShared {
        free(urids.slots)
        free(urids.text)
        free(urids.text_used)
      }
      free(urids.own_slots)
      free(urids.own_text)
    }

    func map(_ uri: String) -> UInt32 { cue_urids_map(&urids, uri) }
    func unmap(_ number: UInt32) -> String? {
      cue_urids_unmap(&urids, number).map { String(cString: $0) }
    }
  }

  @Test func bothProcessesHaveTheSameNumbers() {
    let host = Table()
    let child = Table(sharedWith: host)
    for i in 0..<40 {
      let (first, second) = i % 2 == 0 ? (host, child) : (child, host)
      let number = first.map("urn:\(i)")
      expectTrue(
        number != 0 && second.unmap(number) == "urn:\(i)" && second.map("urn:\(i)") == number)
    }
    expectTrue(host.unmap(0) == nil && host.unmap(65) == nil && host.map("") == 0)
  }

  /// Offsets of the next text before the table's start or far beyond its end.
  @Test(arguments: [.max, .max - 2, .max - 4096, 1 << 32, 4095, 4096, 4097] as [UInt64])
  func aTextThatEndsAnywhereIsNoPlaceToWrite(used: UInt64) {
    let host = Table()
    let known = host.map("urn:known")
    host.urids.text_used.pointee = used
    let number = host.map("urn:new")
    expectTrue(number != 0 && host.map("urn:new") == number && host.unmap(number) == "urn:new")
    expectEqual(host.map("urn:known"), known)
  }

  @Test func aTextWithoutAnEndIsNoURI() {
    let host = Table()
    let known = host.map("urn:known")
    let child = Table(sharedWith: host)
    let new = child.map("urn:new")
    memset(host.urids.text, 0x41, Table.textBytes)
    expectTrue(host.unmap(known) == "urn:known" && host.map("urn:known") == known)
    expectNil(host.unmap(new))
    for slot in 0..<Table.capacity {
      for offset: UInt32 in [1, UInt32(Table.textBytes), UInt32(Table.textBytes) + 1, .max] {
        host.urids.slots[slot] = offset
        _ = host.unmap(UInt32(slot + 1))
      }
    }
    expectEqual(host.unmap(known), "urn:known")
  }

  /// A URID keeps its URI, whatever the other process writes later.
  @Test func aNumberKeepsItsURI() {
    let host = Table()
    let child = Table(sharedWith: host)
    let numbers = (0..<8).map { child.map("urn:\($0)") }
    expectEqual(numbers.map { host.unmap($0) }, (0..<8).map { "urn:\($0)" })
    memset(host.urids.slots, 0, 4 * Table.capacity)
    memset(host.urids.text, 0, Table.textBytes)
    expectEqual(numbers.map { host.unmap($0) }, (0..<8).map { "urn:\($0)" })
    expectEqual((0..<8).map { host.map("urn:\($0)") }, numbers)
  }

  @Test func oneLongURITakesNothingFromOthers() {
    let host = Table()
    for count in [4095, 5000, 8191, 8192, 100_000] {
      expectTrue(host.map("urn:" + String(repeating: "x", count: count - 4)) == 0 || count == 4095)
    }
    let other = Table()
    expectEqual(other.map(String(repeating: "x", count: 8192)), 0)
    expectTrue(other.map("urn:a") != 0)
  }

  // MARK: Lines

  /// Returns the error if a shell script replaces the plugin's process.
  private func failure(_ script: String) -> String {
    do {
      _ = try IsolatedPlugin(
        examples + "amp", in: installed, settings: usual,
        program: IsolationProgram(
          executable: "/bin/sh", arguments: ["-c", script], patience: 2))
      return "nothing"
    } catch {
      return "\(error)"
    }
  }

  @Test func aLineWithoutEndIsNotListenedTo() {
    let words = failure("exec tr '\\0' x </dev/zero")
    expectTrue(words.contains("is faulty: it crashed (Killed)"), "\(words)")
  }

  /// An unrequested answer does not answer the next request.
  @Test func answersThatNobodyAskedForAreNone() throws {
    let words = failure(
      #"""
      for i in 1 2 3 4 5 6 7 8; do echo '{"reply":{"_0":{"value":{"_0":7}}}}'; done
      while read line; do echo '{"reply":{"_0":{"value":{"_0":7}}}}'; done
      """#)
    // It makes no false statement, but has no plugin either.
    expectTrue(
      words == "nothing" || words.contains("crashed") || words.contains("ended"), "\(words)")
  }

  /// A process that says that it has saved, and has written nothing, or a part of a state, or that of another plugin.
  @Test(arguments: [
    "", "@prefix lv2: <", "<> <http://lv2plug.in/ns/lv2core#appliesTo> <urn:other> .",
  ])
  func aStateThatIsNoneIsNotSaved(text: String) throws {
    let plugin = try IsolatedPlugin(
      examples + "amp", in: installed, settings: usual,
      program: IsolationProgram(
        executable: "/bin/sh",
        arguments: [
          "-c",
          #"""
          while read -r line; do
            folder=$(printf %s "$line" | tr -d '\\' | sed -n 's/.*"folder":"\([^"]*\)".*/\1/p')
            if [ "$folder" ]; then mkdir -p "$folder"; printf %s "$0" > "$folder/state.ttl"; fi
            echo '{"reply":{"_0":{"done":{}}}}'
          done
          """#, text,
        ], patience: 2))
    try withTemporaryFolder { folder in
      let error = #expect(throws: HostError.self) { try plugin.save(to: folder.path + "/state") }
      expectTrue(
        "\(String(describing: error))".contains("no whole state"), "\(String(describing: error))")
      expectTrue(!FileManager.default.fileExists(atPath: folder.path + "/state"))
    }
  }
}
