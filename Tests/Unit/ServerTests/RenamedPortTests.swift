import CJack
import Server
import TestSupport
import Testing

/// Ports of other clients that are renamed on a real server.
@Suite(.tags(.server), .serialized) struct RenamedPortTests {
  @Test func aPortThatItsOwnerRenamesStaysConnected() throws {
    let jack = try JackDaemon()
    defer { jack.stop() }
    let device = try Device(JackServer(named: jack.name), clientName: "a")
    let memory = VoiceMemory(channels: 2)
    let name = try require(try device.attach(memory, owner: PassiveOwner()).first)
    defer {
      _ = device.detach(memory)
      device.close()
    }
    var status = jack_status_t(0)
    let peer = try require(cue_jack_client_open("flap", jack.name, &status))
    defer { jack_client_close(peer) }
    let port = jack_port_register(
      peer, "in", JACK_DEFAULT_AUDIO_TYPE, UInt(JackPortIsInput.rawValue), 0)
    expectEqual(jack_activate(peer), 0)
    try device.connect(name, to: "flap:in")
    for (old, new) in [("in", "other"), ("other", "in")] {
      expectEqual(jack_port_rename(peer, port, new), 0)
      // Only a loss or a new name ends the wait.
      try wait(for: "the name \(new)") {
        let known = device.knownConnections.filter { $0.port == name }.map(\.other)
        return known.contains("flap:\(new)") && !known.contains("flap:\(old)")
      }
      expectTrue(device.client.connections(of: name).contains("flap:\(new)"))
    }
  }
}
