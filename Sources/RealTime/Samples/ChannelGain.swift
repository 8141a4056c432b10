/// Gain of a frame: one factor for the second channel, and one for all others.
package struct ChannelGain: BitwiseCopyable, Sendable {
  package var others: Float
  package var second: Float

  /// Creates a gain that is the same for every channel.
  @_noLocks package init(_ gain: Float) { self.init(left: gain, right: gain) }

  @_noLocks package init(left: Float, right: Float) {
    others = left
    second = right
  }

  /// The pan law of queues, mixers and files: a balance. It lowers one side and raises none.
  ///
  /// - Parameter pan: -1, the left side alone, to 1.
  @_noLocks package init(pan: Float) { self.init(left: 1 - max(0, pan), right: 1 + min(0, pan)) }
}
