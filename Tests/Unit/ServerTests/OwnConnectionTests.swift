import CJack
import TestSupport
import Testing

@testable import Server

/// Connections of clients that come and go on a real server.
@Suite(.tags(.server), .serialized) struct OwnConnectionTests {
  private func device(
    _ name: String, on jack: JackDaemon, claim: ConnectionClaim? = nil, _ memory: some CycleMemory
  ) throws -> (device: Device, port: String) {
    var server = JackServer(named: jack.name)
    server.claim = claim
    let device = try Device(server, clientName: name)
    return (device, try device.attach(memory, owner: PassiveOwner())[0])
  }

  @Test func aRecorderIsForgottenAndTheNextOneIsAnotherOne() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let (player, out) = try device("player", on: jack, VoiceMemory(channels: 1))
    defer { player.close() }
    // Another program takes part as the player's earlier document does.
    player.connect(out, whenThere: "later:in_1")
    for name in ["rec", "rec", "later"] {
      let (recorder, input) = try device(
        name, on: jack, claim: .own, RecorderMemory(channels: 1))
      try wait(for: "the port") {
        player.client.otherPorts(.input, .audio).contains("\(name):\(input)")
      }
      if name == "later" {
        // Its name is not enough.
        try recorder.connect(input, to: "system:capture_1")
        _ = try player.awaitHeard(player.connectionMark)
        expectEqual(recorder.client.connections(of: input), ["system:capture_1"])
      } else {
        expectEqual(recorder.client.connections(of: input), [])
        try recorder.connect(input, to: "player:\(out)")
        try wait(for: "the connection") { !player.connections.made.isEmpty }
        expectEqual(player.knownConnections.map(\.other), ["later:in_1"])
      }
      recorder.close()
      try wait(for: "the end") { player.connections.made.isEmpty }
    }
  }

  @Test func aClientThatConnectsItselfIsForgottenWithoutMetadata() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let (player, out) = try device("player", on: jack, VoiceMemory(channels: 1))
    defer { player.close() }
    do {
      let other = try CaptureClient(on: jack, name: "other", channels: 1, capacity: 1)
      try other.connect("player:\(out)", toInput: 1)
      try wait(for: "the connection") { player.knownConnections.count == 1 }
      expectEqual(player.knownConnections.map(\.isLasting), [false])
    }
    try wait(for: "the end") { player.knownConnections.isEmpty }
  }

  /// The other client is the one that makes the connection again, unless somebody has removed it meanwhile.
  @Test func aClientThatRemembersItsConnectionsIsLeftToItself() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let (effect, input) = try device("effect", on: jack, RecorderMemory(channels: 1))
    defer { effect.close() }
    let (session, out) = try device("session", on: jack, claim: .kept, VoiceMemory(channels: 1))
    // A connection that comes with a port is forgotten anyway, within 0.5 s.
    usleep(1_000_000)
    try session.connect(out, to: "effect:\(input)")
    try wait(for: "the connection") { effect.knownConnections.map(\.isLasting) == [false] }
    expectEqual(session.knownConnections.map(\.isLasting), [true])
    session.close()
    try wait(for: "the end") { effect.knownConnections.isEmpty }
  }

  /// A connection that is made again when the server returns is still another program's.
  @Test func aReturnMakesNoConnectionLast() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let (player, out) = try device("player", on: jack, VoiceMemory(channels: 1))
    defer { player.close() }
    // libjack has tables for one server a process: the other client is one of another process.
    do {
      let other = try JackPeer.capture(["player:\(out)"], on: jack)
      try wait(for: "the connection") { player.knownConnections.count == 1 }
      jack.kill()
      try wait(for: "the loss") { player.isLost }
      withExtendedLifetime(other) {}
    }
    try jack.start()
    try wait(for: "the return") { !player.isLost }
    let other = try JackPeer.card("capture", channels: 1, on: jack)
    try wait(for: "the connection") { player.knownConnections.map(\.isMade) == [true] }
    expectEqual(player.knownConnections.map(\.isLasting), [false])
    withExtendedLifetime(other) {}
  }

  @Test func theSoundCardIsConnectedWhenItAppears() throws {
    let jack = try JackDaemon(playbackPorts: 0, capturePorts: 0)
    defer { jack.stop() }
    let (player, out) = try device("player", on: jack, VoiceMemory(channels: 1))
    defer { player.close() }
    try expectEqual(player.connectToCard([out], .output, count: 2), [[]])
    let card = try CaptureClient(on: jack, name: "card", capacity: 1, isSoundCard: true)
    let both = ["card:in_1", "card:in_2"]
    try wait(for: "the card") { player.client.connections(of: out) == both }
    try wait(for: "the note") { player.knownConnections.map(\.isDefault) == [true, true] }
    // What a person ends stays ended. Nobody does it within the 0.6 s in which a port that has just appeared may flap.
    usleep(1_000_000)
    try card.disconnect("player:\(out)", fromInput: 2)
    try wait(for: "the end") { player.knownConnections.count == 1 }
    do {
      let other = try CaptureClient(on: jack, name: "other", capacity: 1, isSoundCard: true)
      try wait(for: "the other card") { player.client.physicalOutputs.count == 4 }
      withExtendedLifetime(other) {}
    }
    expectEqual(player.client.connections(of: out), ["card:in_1"])
  }
}
