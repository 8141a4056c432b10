// The settings that nodes have for the mixers behind them.

extension AVAudioEngine {
  /// Gives the mixers behind a node its volume and pan.
  func apply(_ values: MixingSettings.Values, from node: AVAudioNode) {
    edit {
      for connection in connections where connection.source === node {
        connection.apply(connection.mixing?.settings.change { $0 = values } ?? values)
      }
    }
  }

  /// Gives the inputs of a mixer their settings anew.
  func applySettings(to mixer: AVAudioNode) {
    edit { for connection in connections(to: mixer) { connection.applySettings() } }
  }

  /// Returns the settings of a node for one mixer.
  func mixingDestination(
    of node: AVAudioNode, _ mixer: AVAudioNode, _ bus: AVAudioNodeBus
  ) -> AVAudioMixingDestination? {
    edit {
      guard mixer is any MixingNode,
        let connection = connections.first(where: {
          $0.source === node && $0.destination === mixer && $0.input == bus
        })
      else { return nil }
      if let known = connection.mixing { return known }
      let values = (node as? any MixedNode)?.mixing.current ?? MixingSettings.Values()
      let made = AVAudioMixingDestination(connection, values)
      connection.mixing = made
      return made
    }
  }
}
