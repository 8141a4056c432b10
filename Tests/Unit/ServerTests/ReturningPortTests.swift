import CJack
import Server
import TestSupport
import Testing

/// Ports of other clients on a real server.
@Suite(.tags(.server), .serialized) struct ReturningPortTests {
  /// As netone does when its master restarts.
  @Test func aPortThatIsRegisteredAnewAtOnceIsConnectedAgain() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let device = try Device(JackServer(named: jack.name), clientName: "a")
    let memory = VoiceMemory(channels: 1)
    let name = try require(try device.attach(memory, owner: PassiveOwner()).first)
    defer { _ = device.detach(memory) }
    var status = jack_status_t(0)
    let peer = try require(cue_jack_client_open("flap", jack.name, &status))
    defer { jack_client_close(peer) }
    func register() -> OpaquePointer? {
      jack_port_register(
        peer, "in", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    }
    var port = register()
    expectEqual(jack_activate(peer), 0)
    try device.connect(name, to: "flap:in")
    for _ in 0..<3 {
      expectEqual(jack_port_unregister(peer, port), 0)
      port = register()
      try wait(for: "the connection") { device.client.connections(of: name) == ["flap:in"] }
    }
    // A person's end of the connection is one.
    expectEqual(jack_port_disconnect(peer, port), 0)
    try wait(for: "the end") { device.knownConnections.allSatisfy { $0.other != "flap:in" } }
    expectTrue(device.client.connections(of: name).isEmpty)
  }
}
