public import AudioToolbox
public import Foundation
import Timeline

/// A moment in host time, in samples, or in both. Host time is `CLOCK_MONOTONIC` in nanoseconds, as
/// `mach_absolute_time` returns.
open class AVAudioTime: NSObject, @unchecked Sendable {
  /// True if `hostTime` is valid.
  public let isHostTimeValid: Bool
  /// The host time; 0 if it is not valid.
  public let hostTime: UInt64
  /// True if `sampleTime` and `sampleRate` are valid.
  public let isSampleTimeValid: Bool
  /// The number of the sample; 0 if it is not valid.
  public let sampleTime: AVAudioFramePosition
  /// Samples per second; 0 if they are not known.
  public let sampleRate: Double

  private init(host: UInt64?, sample: AVAudioFramePosition?, rate: Double) {
    isHostTimeValid = host != nil
    hostTime = host ?? 0
    isSampleTimeValid = sample != nil
    sampleTime = sample ?? 0
    sampleRate = rate
  }

  /// Creates a moment in host time.
  public convenience init(hostTime: UInt64) { self.init(host: hostTime, sample: nil, rate: 0) }

  /// Creates a moment in samples of a rate.
  public convenience init(sampleTime: AVAudioFramePosition, atRate sampleRate: Double) {
    self.init(host: nil, sample: sampleTime, rate: sampleRate)
  }

  /// Creates a moment in host time and samples.
  public convenience init(
    hostTime: UInt64, sampleTime: AVAudioFramePosition, atRate sampleRate: Double
  ) {
    self.init(host: hostTime, sample: sampleTime, rate: sampleRate)
  }

  /// Creates a moment from the valid fields of a time stamp. A fraction of a sample is dropped.
  public convenience init(
    audioTimeStamp timeStamp: UnsafePointer<AudioTimeStamp>, sampleRate: Double
  ) {
    let stamp = unsafe timeStamp.pointee
    self.init(
      host: stamp.mFlags.contains(.hostTimeValid) ? stamp.mHostTime : nil,
      sample: stamp.mFlags.contains(.sampleTimeValid)
        ? AVAudioFramePosition(held: stamp.mSampleTime) : nil, rate: sampleRate)
  }

  /// The moment as a time stamp.
  public var audioTimeStamp: AudioTimeStamp {
    var stamp = AudioTimeStamp()
    if isHostTimeValid {
      stamp.mHostTime = hostTime
      stamp.mFlags.insert(.hostTimeValid)
    }
    if isSampleTimeValid {
      stamp.mSampleTime = Double(sampleTime)
      stamp.mFlags.insert(.sampleTimeValid)
    }
    return stamp
  }

  /// Returns the host time of a number of seconds; 0 for one below 0.
  public class func hostTime(forSeconds seconds: TimeInterval) -> UInt64 {
    UInt64(held: (seconds * 1e9).rounded())
  }

  /// Returns the seconds of a host time.
  public class func seconds(forHostTime hostTime: UInt64) -> TimeInterval { Double(hostTime) / 1e9 }

  /// Returns the same moment with what is not valid in it, host time or samples, computed from an anchor.
  ///
  /// - Parameter anchorTime: A moment with both times.
  /// - Returns: Nil if the anchor lacks a time, or this moment has neither or no sample rate.
  @discardableResult
  public func extrapolateTime(fromAnchor anchorTime: AVAudioTime) -> AVAudioTime? {
    guard anchorTime.isHostTimeValid, anchorTime.isSampleTimeValid, anchorTime.sampleRate > 0,
      sampleRate > 0, isHostTimeValid || isSampleTimeValid
    else { return nil }
    if isHostTimeValid, isSampleTimeValid { return self }
    // In samples of this moment's rate.
    let anchor = Double(anchorTime.sampleTime) * (sampleRate / anchorTime.sampleRate)
    if isHostTimeValid {
      let passed = AVAudioTime.distance(from: anchorTime.hostTime, to: hostTime) / 1e9
      let sample = AVAudioFramePosition(held: (anchor + passed * sampleRate).rounded())
      return AVAudioTime(hostTime: hostTime, sampleTime: sample, atRate: sampleRate)
    }
    let passed = (Double(sampleTime) - anchor) / sampleRate * 1e9
    let nanoseconds = UInt64(held: passed.magnitude.rounded())
    let (host, isOutside) =
      passed < 0
      ? anchorTime.hostTime.subtractingReportingOverflow(nanoseconds)
      : anchorTime.hostTime.addingReportingOverflow(nanoseconds)
    return AVAudioTime(
      hostTime: !isOutside ? host : passed < 0 ? 0 : .max, sampleTime: sampleTime,
      atRate: sampleRate)
  }

  private static func distance(from start: UInt64, to end: UInt64) -> Double {
    end >= start ? Double(end - start) : -Double(start - end)
  }

  /// The valid times.
  open override var description: String {
    let host = isHostTimeValid ? ["\(Self.seconds(forHostTime: hostTime)) s"] : []
    let sample = isSampleTimeValid ? ["sample \(sampleTime) at \(sampleRate) Hz"] : []
    return "<\(identity): \((host + sample).joined(separator: ", "))>"
  }
}
