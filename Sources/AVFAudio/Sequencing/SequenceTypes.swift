public import Foundation

/// A time in beats.
public typealias AVMusicTimeStamp = Double

/// A part of a track.
public struct AVBeatRange: Sendable, Hashable {
  /// The first beat.
  public var start: AVMusicTimeStamp
  /// Beats.
  public var length: AVMusicTimeStamp

  /// Creates the range at beat 0 without beats.
  public init() { (start, length) = (0, 0) }

  /// Creates a range of beats.
  public init(start: AVMusicTimeStamp, length: AVMusicTimeStamp) {
    self.start = start
    self.length = length
  }
}

/// Returns a range of beats.
public func AVMakeBeatRange(_ startBeat: AVMusicTimeStamp, _ lengthInBeats: AVMusicTimeStamp)
  -> AVBeatRange
{
  AVBeatRange(start: startBeat, length: lengthInBeats)
}

/// The time of the end of any track.
public let AVMusicTimeStampEndOfTrack: AVMusicTimeStamp = 1e9

/// Numbers of loops with a meaning of their own.
public enum AVMusicTrackLoopCount: Int, Sendable {
  /// No end.
  case forever = -1
}

/// How MIDI files become tracks.
public struct AVMusicSequenceLoadOptions: OptionSet, Sendable {
  /// The options as bits.
  public let rawValue: UInt
  /// Creates options of bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// A track for each MIDI channel, and a last one for what belongs to none.
  public static let smf_ChannelsToTracks = AVMusicSequenceLoadOptions(rawValue: 1)
}

/// A function that hears of a user event, on a thread of the library soon after its time.
public typealias AVAudioSequencerUserCallback = (AVMusicTrack, Data, AVMusicTimeStamp) -> Void

/// A function that gets each event of a range. It may change the event, its beat, and whether the event is removed.
public typealias AVMusicEventEnumerationBlock = (
  AVMusicEvent, UnsafeMutablePointer<AVMusicTimeStamp>, UnsafeMutablePointer<ObjCBool>
) -> Void
