import Foundation
import System
import TestSupport
import Testing

@testable import Server

/// 14: clients that have lost a server agree on a frame on which they resume.
@Suite struct ReturnTableTests {
  private func withTable(_ body: (ReturnTable) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "cuejack-returns-\(UUID().uuidString)"
    defer { unlink(path) }
    try body(require(ReturnTable(path: path)))
  }

  @Test func allResumeAtOneTimeOnceAllAreBack() throws {
    try withTable { table in
      let members = try (0..<3).map { _ in try require(table.enter(server: "a")) }
      // Clients of another server are ignored.
      let other = try require(table.enter(server: "b"))
      let loss = ReturnTable.now
      for (i, member) in members.enumerated() { member.leave(at: loss + UInt64(i) * 10_000) }
      other.leave(at: loss + 99_000)
      members[0].beReady()
      expectNil(members[0].decision())
      members[1].beReady()
      expectTrue(members[1].decision() == nil && members[0].decision() == nil)
      members[2].beReady()
      let decided = try members.map { try require($0.decision()) }
      expectTrue(decided[0] == decided[1] && decided[1] == decided[2])
      expectEqual(decided[0].lossMicroseconds, loss + 20_000)
      expectTrue(decided[0].microseconds > ReturnTable.now)
    }
  }

  @Test func oneThatHasNotNoticedIsWaitedForAndOneThatCameLaterIsNot() throws {
    try withTable { table in
      let early = try require(table.enter(server: "a"))
      let unaware = try require(table.enter(server: "a"))
      usleep(2000)
      early.leave(at: ReturnTable.now)
      usleep(2000)
      let late = try require(table.enter(server: "a"))
      early.beReady()
      expectNil(early.decision())
      unaware.end()
      expectTrue(early.decision() != nil)
      late.end()
    }
  }

  @Test func oneThatNeverReturnsIsNotWaitedForForEver() throws {
    try withTable { table in
      let member = try require(table.enter(server: "a"))
      let lost = try require(table.enter(server: "a"))
      member.leave(at: ReturnTable.now)
      lost.leave(at: ReturnTable.now)
      member.beReady()
      let deadline = HostTime.now + 60_000_000_000
      var decision = member.decision()
      while decision == nil, HostTime.now < deadline {
        usleep(10_000)
        decision = member.decision()
      }
      expectTrue(decision != nil)
    }
  }
}

/// Distinguishes connections that somebody removed from those lost with the other port.
@Suite struct ConnectionBookTests {
  private func changes(of book: inout ConnectionBook, _ exists: (String) -> Bool)
    -> [ConnectionChange]
  {
    var all: [ConnectionChange] = []
    let deadline = HostTime.now + 20_000_000_000
    var patience: Double?
    repeat {
      patience = nil
      all += book.take(&patience, exists)
      usleep(1000)
    } while patience != nil && HostTime.now < deadline
    return all
  }

  private func others(_ names: String...) -> [ConnectionBook.Other] {
    names.map { ConnectionBook.Other(name: $0, address: UInt(bitPattern: $0.hashValue)) }
  }

  @Test func aPortThatIsRenamedStaysConnected() {
    var book = ConnectionBook()
    book.note("out_1", isConnectedTo: [.init(name: "a:in", address: 1)])
    _ = changes(of: &book) { _ in true }
    book.rename([1])
    book.note("out_1", isConnectedTo: [.init(name: "b:in", address: 1)])
    expectEqual(
      changes(of: &book) { $0 == "b:in" },
      [
        ConnectionChange(kind: .renamed(from: "a:in"), port: "out_1", other: "b:in")
      ])
    // The address of a port that is gone may be another's.
    book.note("out_1", isConnectedTo: [.init(name: "c:in", address: 2)])
    _ = changes(of: &book) { _ in true }
    book.note("out_1", isConnectedTo: [.init(name: "d:in", address: 2)])
    expectEqual(
      changes(of: &book) { $0 == "d:in" },
      [
        ConnectionChange(kind: .made, port: "out_1", other: "d:in"),
        ConnectionChange(kind: .interrupted, port: "out_1", other: "c:in"),
      ])
    // The new name is there before its report.
    book.note("out_1", isConnectedTo: [.init(name: "e:in", address: 3)])
    _ = changes(of: &book) { _ in true }
    book.note("out_1", isConnectedTo: [.init(name: "f:in", address: 3)])
    book.rename([3])
    expectEqual(
      changes(of: &book) { $0 == "f:in" },
      [
        ConnectionChange(kind: .made, port: "out_1", other: "f:in"),
        ConnectionChange(kind: .renamed(from: "e:in"), port: "out_1", other: "f:in"),
      ])
  }

  @Test func aPortThatIsGoneInterruptsAndAPersonEnds() {
    var book = ConnectionBook()
    book.add("out_1", .init(name: "system:playback_1"))
    book.note("out_1", isConnectedTo: others("system:playback_1", "meter:in", "other:in"))
    expectEqual(
      changes(of: &book) { _ in true },
      [
        ConnectionChange(kind: .made, port: "out_1", other: "meter:in"),
        ConnectionChange(kind: .made, port: "out_1", other: "other:in"),
      ])
    book.note("out_1", isConnectedTo: others("system:playback_1"))
    expectEqual(
      changes(of: &book) { $0 != "meter:in" },
      [
        ConnectionChange(kind: .interrupted, port: "out_1", other: "meter:in"),
        ConnectionChange(kind: .ended, port: "out_1", other: "other:in"),
      ])
    // A connection that is restored at once does not count as removed.
    book.note("out_1", isConnectedTo: [])
    book.note("out_1", isConnectedTo: others("system:playback_1"))
    expectEqual(
      changes(of: &book) { _ in true },
      [
        ConnectionChange(kind: .made, port: "out_1", other: "system:playback_1")
      ])
  }

  @Test func anotherPortOfTheNameInterrupts() {
    var book = ConnectionBook()
    book.add("out_1", .init(name: "rack:in"))
    for isKnown in [true, false] {
      book.note("out_1", isConnectedTo: others("rack:in"))
      book.appear(isKnown ? ["rack:in", "other:in"] : nil)
      book.note("out_1", isConnectedTo: [])
      expectEqual(
        changes(of: &book) { _ in true },
        [
          ConnectionChange(kind: .interrupted, port: "out_1", other: "rack:in")
        ])
      book.add("out_1", .init(name: "rack:in"))
    }
    // Somebody disconnects the port that has appeared.
    book.appear(["rack:in"])
    book.add("out_1", .init(name: "rack:in"))
    book.note("out_1", isConnectedTo: [])
    expectEqual(
      changes(of: &book) { _ in true },
      [
        ConnectionChange(kind: .ended, port: "out_1", other: "rack:in")
      ])
  }

  @Test func numbersThatDoNotFitAreTold() {
    let ports = ChangedPorts()
    for number in 0..<3 as Range<UInt32> {
      ports.push(number)
      ports.push(number)
    }
    var taken = ports.take()
    expectTrue(taken.numbers == [0, 1, 2] && !taken.isIncomplete)
    for number in 0..<2000 as Range<UInt32> { ports.push(number) }
    taken = ports.take()
    expectTrue(taken.isIncomplete && taken.numbers.count >= 1000)
    expectTrue(!ports.take().isIncomplete)
  }
}
