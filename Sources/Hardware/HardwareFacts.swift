import Server

/// Properties that a server reports of itself and of its sound card.
package struct HardwareFacts: Equatable, Sendable {
  /// Sample rate in Hz.
  package var sampleRate: Double
  /// Frames of a cycle.
  package var periodFrames: Int
  /// Number of the sound card's inputs.
  package var cardInputs: Int
  /// Channels of the sound card. A direction in which it has none has two, which are connected to nothing:
  /// users patch them.
  package var inputs, outputs: Int
  /// The sound card's latencies in frames.
  package var inputLatency, outputLatency: Int
  /// Number of cycles that came too late.
  package var xruns: UInt64
  package var isPipeWire: Bool
}

extension HardwareFacts {
  /// Asks the server of an open device.
  init(of device: Device) {
    let client = device.client
    let card = CardRoute(inputs: client.physicalInputs, outputs: client.physicalOutputs)
    CardRoutes.shared.learn(card, on: client.serverName)
    let (inputs, outputs) = (card.inputs.count, card.outputs.count)
    self.init(
      sampleRate: client.sampleRate, periodFrames: client.periodFrames,
      cardInputs: inputs, inputs: inputs == 0 ? 2 : inputs, outputs: outputs == 0 ? 2 : outputs,
      inputLatency: client.cardLatency(.input),
      outputLatency: client.cardLatency(.output), xruns: device.xruns,
      isPipeWire: client.isPipeWire)
  }

  /// Takes what the client knows without asking the server.
  mutating func takeCounts(of device: Device) {
    sampleRate = device.client.sampleRate
    periodFrames = device.client.periodFrames
    xruns = device.xruns
  }
}
