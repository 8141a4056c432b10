import Timeline

#if RubberBand
  package import CRealTime
  import CRubberBand

  /// A stretcher with independent speed and pitch, for renders.
  @safe
  package final class PitchStream: @unchecked Sendable {
    private let state: RubberBandState

    /// - Parameters:
    ///   - sampleRate: Of the output, in Hz.
    ///   - maximumInput: Most frames of a call.
    ///   - isFiner: False for windows of one length, which take less time and sound less well.
    package init?(sampleRate: Double, channels: Int, maximumInput: Int, isFiner: Bool = true) {
      // The faster engine allocates in renders.
      let window = isFiner ? RubberBandOptionWindowStandard : RubberBandOptionWindowShort
      let options =
        RubberBandOptionProcessRealTime.rawValue | RubberBandOptionEngineFiner.rawValue
        | window.rawValue
        | RubberBandOptionPitchHighConsistency.rawValue | RubberBandOptionThreadingNever.rawValue
      guard
        let state = unsafe rubberband_new(
          UInt32(held: sampleRate.rounded()), UInt32(channels), RubberBandOptions(options), 1, 1)
      else { return nil }
      unsafe self.state = state
      unsafe rubberband_set_max_process_size(state, UInt32(maximumInput))
    }

    deinit { unsafe rubberband_delete(state) }

    /// The stretcher as renders call it, as long as the object exists.
    package var realTimeCall: cue_resampler {
      unsafe cue_resampler(
        run: { context, input, count, taken, output, room, given in
          let state = RubberBandState(context)
          unsafe taken.pointee = 0
          unsafe given.pointee = 0
          if unsafe rubberband_available(state) <= 0, count > 0 {
            unsafe rubberband_process(
              state,
              UnsafeRawPointer(input).assumingMemoryBound(to: UnsafePointer<Float>?.self), count, 0)
            unsafe taken.pointee = count
          }
          let available = unsafe rubberband_available(state)
          if available > 0 {
            unsafe given.pointee = rubberband_retrieve(
              state,
              UnsafeRawPointer(output).assumingMemoryBound(to: UnsafeMutablePointer<Float>?.self),
              min(UInt32(available), room))
          }
        },
        set: { context, ratio, pitch in
          let state = RubberBandState(context)
          unsafe rubberband_set_time_ratio(state, 1 / ratio)
          unsafe rubberband_set_pitch_scale(state, pitch)
        }, context: UnsafeMutableRawPointer(state))
    }
  }
#endif
