import Timeline

#if RubberBand
  import CRubberBand
  import Glibc

  /// A stretcher with independent rate and pitch, based on Rubber Band's finer engine. The faster
  /// engine misses the pitch of a steady tone by up to one percent.
  @safe
  final class RubberBand: Stretcher {
    private let state: RubberBandState
    private let channels: Int
    private let silence: Planes
    /// Output frames still to drop before the first input frame.
    private var toSkip = 0
    /// Look-ahead of the engine in frames.
    private var ahead = 0
    /// Input frames since `begin`, without the look-ahead.
    private var fed = 0
    private var cents = 0.0
    /// Settings that take effect when the engine reaches their frame.
    private var coming: [(frame: Int, setting: TimePitch.Setting)] = []
    /// Accuracy of a change in frames.
    private static var grain: Int { 256 }

    init?(sampleRate: Double, channels: Int, isFast: Bool) {
      let options =
        RubberBandOptionProcessRealTime.rawValue | RubberBandOptionEngineFiner.rawValue
        | RubberBandOptionPitchHighConsistency.rawValue | RubberBandOptionThreadingNever.rawValue
        | (isFast ? RubberBandOptionWindowShort.rawValue : RubberBandOptionWindowStandard.rawValue)
      guard
        let state = unsafe rubberband_new(
          UInt32(held: sampleRate.rounded()), UInt32(channels), RubberBandOptions(options), 1, 1)
      else { return nil }
      unsafe self.state = state
      self.channels = channels
      silence = Planes(channels: channels, capacity: Self.grain)
      unsafe rubberband_set_max_process_size(state, UInt32(Self.grain))
    }

    deinit { unsafe rubberband_delete(state) }

    func begin(_ setting: TimePitch.Setting, after history: Planes) {
      unsafe rubberband_reset(state)
      apply(setting)
      cents = setting.cents
      coming = []
      fed = 0
      ahead = Int(unsafe rubberband_get_preferred_start_pad(state))
      toSkip = Int(unsafe rubberband_get_start_delay(state))
      var left = ahead
      while left > 0 {
        let unknown = left - history.capacity
        let count = min(unknown > 0 ? unknown : left, Self.grain)
        unsafe process(
          unknown > 0 ? silence.pointers() : history.pointers(at: -unknown), frames: count)
        left -= count
      }
    }

    func change(_ setting: TimePitch.Setting) -> Double {
      coming.append((fed, setting))
      defer { cents = setting.cents }
      return delay(setting.cents) - delay(cents)
    }

    /// Returns the frames by which the output lags behind the engine's windows. A lower pitch
    /// increases them.
    private func delay(_ cents: Double) -> Double { Double(ahead) / exp2(cents / 1200) }

    private func apply(_ setting: TimePitch.Setting) {
      unsafe rubberband_set_time_ratio(state, 1 / setting.rate)
      unsafe rubberband_set_pitch_scale(state, exp2(setting.cents / 1200))
    }

    func put(_ planes: Planes.Pointers, frames: Int, into output: PlaneQueue) -> Int {
      let source = unsafe Planes.Advancing(planes, channels: channels)
      var left = frames
      var total = 0
      while left > 0 {
        while let next = coming.first, next.frame + ahead <= fed {
          apply(next.setting)
          coming.removeFirst()
        }
        var count = min(left, Self.grain)
        if let next = coming.first { count = min(count, next.frame + ahead - fed) }
        unsafe process(source.pointers, frames: count)
        source.advance(count)
        fed += count
        left -= count
        total += retrieve(into: output)
      }
      return total
    }

    private func process(_ planes: Planes.Pointers, frames: Int) {
      unsafe UnsafeRawPointer(planes).withMemoryRebound(
        to: UnsafePointer<Float>?.self, capacity: channels
      ) { unsafe rubberband_process(state, $0, UInt32(frames), 0) }
    }

    private func retrieve(into output: PlaneQueue) -> Int {
      var total = 0
      while true {
        let available = Int(unsafe rubberband_available(state))
        guard available > 0 else { return total }
        let room = unsafe output.room(for: available)
        let count = unsafe UnsafeRawPointer(room).withMemoryRebound(
          to: UnsafeMutablePointer<Float>?.self, capacity: channels
        ) { Int(unsafe rubberband_retrieve(state, $0, UInt32(available))) }
        guard count > 0 else { return total }
        output.add(count)
        // Output before the first input frame is dropped.
        let skipped = min(toSkip, count)
        toSkip -= skipped
        output.skip(skipped, of: count)
        total += count - skipped
      }
    }
  }
#endif
