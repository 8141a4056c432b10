import CPlugin

/// A series of filters followed by a gain.
struct Equalizer<let bands: Int>: ~Copyable {
  private var filters = InlineArray<bands, Filter> { _ in Filter() }
  private var gain = Ramp(1)
  private let rate: Double

  init(rate: Double) { self.rate = rate }

  mutating func reset() {
    for i in filters.indices { filters[i].reset() }
  }

  /// - Parameter gain: Gain in decibels.
  mutating func set(gain: Double, in frames: Int) {
    self.gain.aim(at: cue_rt_amplitude(gain), in: frames)
  }

  mutating func set(_ filter: Int, to settings: FilterSettings, in frames: Int) {
    filters[filter].set(settings, rate: rate, in: frames)
  }

  mutating func process(_ block: inout Block) {
    for i in filters.indices { filters[i].process(&block) }
    if gain.isMoving || gain.value != 1 {
      for i in 0..<block.count { block.wet[i] *= gain.next() }
    }
  }

  mutating func settle() {
    for i in filters.indices { filters[i].settle() }
  }
}
