import Codecs
import RealTime
import Timeline

extension Converter {
  /// The formats, rates and settings of a conversion.
  struct Plan {
    /// The format of the buffers, and the PCM format that it decodes to.
    let streamFormat: StreamFormat
    let format: PCMFormat
    let layout: SampleLayout
    let deviceRate: Double
    let settings: ChainSettings

    /// False if the process thread can read the app's buffers directly.
    var isNeeded: Bool {
      if case .packets = streamFormat { return true }
      return format.sampleRate != deviceRate || settings.tap != nil || settings.isTimePitchEnabled
    }

    /// The number of frames, at the device's rate, to convert ahead of cycles of `period` frames:
    /// two cycles, 20 ms, or what the settings request, whichever is longest. 64 MB at most, unless
    /// the settings request as many device frames.
    ///
    /// A low queue rate has thousands of device frames per frame. Above the original speed, each
    /// frame costs `speed` times the work: the cycles and the time grow with it.
    func framesAhead(period: Int, speed: Double) -> Int {
      let isPCM = if case .pcm = streamFormat { true } else { false }
      let requested = settings.decodeFrames ?? (isPCM ? 0 : ChainSettings.defaultDecodeFrames)
      let wanted = max(
        Double(requested) * deviceRate / format.sampleRate,
        max(0.02 * deviceRate, Double(2 * period)) * max(1, speed))
      return Int(
        held: min(wanted.rounded(.up), Double(max(requested, (1 << 24) / format.channels))))
    }
  }
}
