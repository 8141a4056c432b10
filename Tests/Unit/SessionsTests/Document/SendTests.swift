import TestSupport
import Testing

@testable import Sessions

/// The sends of a document, and their receivers.
@Suite struct SendTests {
  @Test func receiversAreRead() throws {
    let plain = try require(SessionReceiver("rack.local:9700"))
    expectTrue(plain.kind == .zita && plain.host == "rack.local" && plain.port == 9700, "\(plain)")
    let six = try require(SessionReceiver("[fe80::1]:65535"))
    expectTrue(six.host == "fe80::1" && six.port == 65535 && six.interface == nil, "\(six)")
    let rtp = try require(SessionReceiver("rtp://239.1.2.3:46000@eth0"))
    expectTrue(
      rtp.kind == .rtp && rtp.host == "239.1.2.3" && rtp.port == 46000 && rtp.interface == "eth0")
  }

  @Test(arguments: [
    "", "host", "host:", ":9700", "host:0", "host:65536", "host:-1", "host:97x", "-host:9700",
    "a b:9700", "host:9700@", "host:9700@-x", "host:9700@0123456789abcdef", "[x]:9700", "[::1]",
    "http://host:80", "host:9700\n", "höst:9700", "a\";b:9700",
  ])
  func otherTextsAreNoReceivers(text: String) { expectNil(SessionReceiver(text)) }

  private var document: SessionDocument {
    var document = SessionDocument(name: "song")
    document.buses = [SessionBus(name: "main"), SessionBus(name: "monitor")]
    document.sends = [SessionSend(name: "pa", bus: "main", to: "127.0.0.1:9700")]
    return document
  }

  @Test func unknownBusesAreTold() {
    var document = document
    expectEqual(SessionCheck.references(of: document).map(\.description), [])
    document.sends[0].bus = "mian"
    document.sends.append(SessionSend(name: "pa", bus: "main", to: "127.0.0.1:9701"))
    let faults = SessionCheck.references(of: document).map(\.description)
    expectTrue(
      faults.contains { $0.contains("sends[0].bus") && $0.contains("did you mean “main”?") }
        && faults.contains { $0.contains("“pa” is there twice") } && faults.count == 2,
      "\(faults)")
  }

  @Test func aSendFollowsTheNameOfItsBus() throws {
    let path = SessionPath([.key("buses"), .index(0), .key("name")])
    let edited = try document.edited([.set(path, .text("house"))])
    expectEqual(edited.sends.map(\.bus), ["house"])
  }

  @Test func delaysAddUpAlongTheBuses() {
    var document = document
    document.tracks = [SessionTrack(name: "a", files: ["a.wav"])]
    document.tracks[0].delay = 1
    expectEqual(document.delay(ofTrack: 0), 1)
    document.tracks[0].bus = "monitor"
    document.buses[1].delay = 2
    document.buses[1].bus = "main"
    document.buses[0].delay = 4
    expectEqual(document.delay(ofTrack: 0), 7)
  }
}
