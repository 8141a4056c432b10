import Foundation
import TestSupport
import Testing

@testable import Server

/// What a client remembers of its connections.
@Suite struct PatchbayTests {
  private func remembered(_ patchbay: Patchbay) -> [String] {
    patchbay.remembered.map { "\($0.port) \($0.other)\($0.isMade ? "" : " (away)")" }
  }

  @Test func connectionsOfPeopleOutlastTheOtherClient() {
    var patchbay = Patchbay()
    patchbay.connected("a", to: "x:in")
    patchbay.interrupted("a", to: "x:in", otherHasLeft: true)
    expectEqual(remembered(patchbay), ["a x:in (away)"])
    patchbay.connected("a", to: "x:in", .present)
    patchbay.lose()
    expectEqual(remembered(patchbay), ["a x:in (away)"])
  }

  @Test func connectionsForARunEndWithIt() {
    var patchbay = Patchbay()
    patchbay.connected("a", to: "x:in", .whileOtherRuns)
    // The port returns at once: the client is still there.
    patchbay.interrupted("a", to: "x:in")
    expectEqual(patchbay.missing.map(\.destination), ["x:in"])
    patchbay.connected("a", to: "x:in", .whileOtherRuns)
    expectEqual(patchbay.remembered.map(\.isLasting), [false])
    patchbay.interrupted("a", to: "x:in", otherHasLeft: true)
    expectEqual(remembered(patchbay), [])
    // A save keeps it.
    patchbay.connected("a", to: "x:in", .whileOtherRuns)
    patchbay.keepAll()
    patchbay.interrupted("a", to: "x:in", otherHasLeft: true)
    expectEqual(remembered(patchbay), ["a x:in (away)"])
  }

  @Test func connectionsThatOthersClaimAreNotRemembered() {
    var patchbay = Patchbay()
    patchbay.connected("a", to: "rec:in", .present)
    expectTrue(remembered(patchbay) == [] && patchbay.made.map(\.other) == ["rec:in"])
    patchbay.interrupted("a", to: "rec:in")
    expectTrue(patchbay.missing.isEmpty)
    // One that this client asked for is made again with the server, but not for the next client of the name.
    patchbay.connected("a", to: "rec:in", .ownWhileOtherRuns)
    patchbay.lose()
    expectEqual(patchbay.missing.map(\.destination), ["rec:in"])
    patchbay.connected("a", to: "rec:in", .ownWhileOtherRuns)
    patchbay.interrupted("a", to: "rec:in", otherHasLeft: true)
    expectTrue(patchbay.missing.isEmpty)
  }

  @Test func aCardThatAppearsIsConnectedOnce() {
    var patchbay = Patchbay()
    patchbay.wish(.init(ports: ["a", "b"], direction: .output, made: [], count: 2))
    func take(_ card: [String]) -> [String] {
      patchbay.takeDefaults { _ in card }.map { "\($0.port) \($0.destination)" }
    }
    expectEqual(take([]), [])
    expectEqual(take(["card:1"]), ["a card:1"])
    // Another client's port is no part of the card.
    expectEqual(take(["card:1", "net:1"]), [])
    expectEqual(take(["card:1", "card:2"]), ["b card:2"])
    // Whatever people do with them later.
    expectEqual(take(["card:1", "card:2"]), [])
    patchbay.wish(.init(ports: ["c", "d"], direction: .output, made: [], count: 2))
    patchbay.connected("c", to: "desk:in")
    patchbay.connected("d", to: "rec:in", .present)
    expectEqual(take(["card:1", "card:2"]), ["d card:2"])
  }

  @Test func connectionsRightAfterAnAppearanceAreThoseOfTheClient() {
    var book = ConnectionBook()
    book.appear(["new:in", "own:in"])
    book.note(
      "a", isConnectedTo: ["old:in", "new:in", "own:in"].map { ConnectionBook.Other(name: $0) }
    ) { $0.hasPrefix("own:") ? .present : nil }
    var patience: Double?
    let made = book.take(&patience) { _ in true }
    expectEqual(made.map(\.memory), [.lasting, .whileOtherRuns, .present])
  }

  /// A port that was gone for a moment was not disconnected by anybody, even if it appears much later: JACK tells that when its
  /// client is activated.
  @Test func aPortThatWasGoneIsConnectedAgain() {
    var book = ConnectionBook()
    var patience: Double?
    for wasMissing in [false, true] {
      book.note("a", isConnectedTo: [ConnectionBook.Other(name: "keys:out")])
      _ = book.take(&patience) { _ in true }
      book.note("a", isConnectedTo: [])
      expectTrue(book.take(&patience) { _ in !wasMissing }.isEmpty)
      usleep(150_000)
      let ended = book.take(&patience) { _ in true }
      expectEqual(ended.map(\.kind), [wasMissing ? .interrupted : .ended])
    }
  }
}
