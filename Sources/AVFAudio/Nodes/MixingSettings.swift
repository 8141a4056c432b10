import Synchronization

/// Volume, pan and place of a node. Any thread.
final class MixingSettings: Sendable {
  struct Values: Sendable {
    var volume: Float = 1
    var pan: Float = 0
    var position = AVAudio3DPoint()
    var algorithm = AVAudio3DMixingRenderingAlgorithm.equalPowerPanning
    var obstruction: Float = 0
    var occlusion: Float = 0
  }
  private let values = Mutex(Values())

  var current: Values { values.withLock { $0 } }

  /// - Returns: The values afterwards.
  func change(_ body: (inout Values) -> Void) -> Values {
    values.withLock { values in
      body(&values)
      values.volume = values.volume.isNaN ? 0 : min(max(values.volume, 0), 1)
      values.pan = values.pan.isNaN ? 0 : min(max(values.pan, -1), 1)
      values.position = values.position.held
      for decibels in [\Values.obstruction, \.occlusion] {
        let value = values[keyPath: decibels]
        values[keyPath: decibels] = value.isNaN ? 0 : min(max(value, -100), 0)
      }
      return values
    }
  }
}
