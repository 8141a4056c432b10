import AVFoundation
import Testing

@Suite struct TimeTests {
  @Test func aTimeSaysWhatIsValid() {
    let host = AVAudioTime(hostTime: 5)
    #expect(host.isHostTimeValid && !host.isSampleTimeValid && host.hostTime == 5)
    let sample = AVAudioTime(sampleTime: -7, atRate: 44100)
    #expect(!sample.isHostTimeValid && sample.isSampleTimeValid && sample.sampleTime == -7)
    #expect(sample.sampleRate == 44100)
    let both = AVAudioTime(hostTime: 5, sampleTime: 7, atRate: 48000)
    #expect(both.isHostTimeValid && both.isSampleTimeValid)
    var stamp = both.audioTimeStamp
    #expect(stamp.mFlags == [.hostTimeValid, .sampleTimeValid])
    #expect(stamp.mHostTime == 5 && stamp.mSampleTime == 7)
    stamp.mFlags = [.sampleTimeValid]
    stamp.mSampleTime = 9.75
    let read = AVAudioTime(audioTimeStamp: &stamp, sampleRate: 48000)
    #expect(!read.isHostTimeValid && read.sampleTime == 9 && read.hostTime == 0)
    stamp.mSampleTime = .nan
    #expect(AVAudioTime(audioTimeStamp: &stamp, sampleRate: 48000).sampleTime == 0)
    stamp.mSampleTime = .infinity
    #expect(AVAudioTime(audioTimeStamp: &stamp, sampleRate: 48000).sampleTime > 1 << 59)
  }

  @Test func hostTimeIsNanosecondsOfTheMonotonicClock() {
    #expect(AVAudioTime.hostTime(forSeconds: 1.5) == 1_500_000_000)
    #expect(AVAudioTime.seconds(forHostTime: 2_500_000_000) == 2.5)
    for seconds in [-1, -Double.infinity, .nan] {
      #expect(AVAudioTime.hostTime(forSeconds: seconds) == 0)
    }
    #expect(AVAudioTime.hostTime(forSeconds: .infinity) == 1 << 63)
    let before = AVAudioTime.seconds(forHostTime: mach_absolute_time())
    #expect(abs(before - ProcessInfo.processInfo.systemUptime) < 3600)
  }

  @Test func whatIsNotValidIsComputedFromAnAnchor() throws {
    let anchor = AVAudioTime(hostTime: 10_000_000_000, sampleTime: 480_000, atRate: 48000)
    let later = try #require(
      AVAudioTime(sampleTime: 504_000, atRate: 48000).extrapolateTime(fromAnchor: anchor))
    #expect(
      later.isHostTimeValid && later.hostTime == 10_500_000_000 && later.sampleTime == 504_000)
    let earlier = try #require(
      AVAudioTime(sampleTime: 0, atRate: 48000).extrapolateTime(fromAnchor: anchor))
    #expect(earlier.hostTime == 0)
    let before = AVAudioTime(sampleTime: -48000, atRate: 48000).extrapolateTime(fromAnchor: anchor)
    #expect(before?.hostTime == 0)
    var stamp = AVAudioTime(hostTime: 9_000_000_000).audioTimeStamp
    let host = AVAudioTime(audioTimeStamp: &stamp, sampleRate: 48000)
    #expect(host.extrapolateTime(fromAnchor: anchor)?.sampleTime == 432_000)
    // Samples count at the rate of the time, not of the anchor.
    let other = AVAudioTime(audioTimeStamp: &stamp, sampleRate: 24000)
    #expect(other.extrapolateTime(fromAnchor: anchor)?.sampleTime == 216_000)
    #expect(
      AVAudioTime(sampleTime: 252_000, atRate: 24000).extrapolateTime(fromAnchor: anchor)?.hostTime
        == 10_500_000_000)
  }

  @Test func withoutBothTimesOfTheAnchorAndARateNothingIsComputed() {
    let anchor = AVAudioTime(hostTime: 1, sampleTime: 1, atRate: 48000)
    let sample = AVAudioTime(sampleTime: 5, atRate: 48000)
    let host = AVAudioTime(hostTime: 5)
    #expect(sample.extrapolateTime(fromAnchor: host) == nil)
    #expect(sample.extrapolateTime(fromAnchor: sample) == nil)
    #expect(host.extrapolateTime(fromAnchor: anchor) == nil)
    let whole = AVAudioTime(hostTime: 9, sampleTime: 9, atRate: 48000)
    #expect(whole.extrapolateTime(fromAnchor: anchor)?.hostTime == 9)
  }
}
