public import CAudioToolbox
import CoreFoundation
import Files
import Foundation
import Glibc
import Music
import System

// The functions of MusicPlayer.h for sequences. The header documents each function. On Linux, Swift cannot declare a C
// function with a CFURL parameter, so some take a raw pointer.

/// Makes a sequence.
@c @implementation
public func NewMusicSequence(_ outSequence: UnsafeMutablePointer<MusicSequence?>) -> OSStatus {
  answer("NewMusicSequence") { () throws(MusicFailure) in
    if unsafe hasNull([outSequence]) { throw .badArgument("there is nowhere to put it") }
    let handle = SequenceHandle.all.add { SequenceHandle(EventSequence(), $0) }
    unsafe outSequence.pointee = MusicSequence(bitPattern: handle)
  }
}

/// Disposes of a sequence.
@c @implementation
public func DisposeMusicSequence(_ inSequence: MusicSequence) -> OSStatus {
  unsafe withSequence(inSequence, "DisposeMusicSequence") { handle throws(MusicFailure) in
    if handle.sequence.isPlaying { throw .music(.invalidState("the sequence is played")) }
    SequenceHandle.all.remove(handle.handle)
    handle.dispose()
  }
}

// MARK: Tracks

/// Adds a track.
@c @implementation
public func MusicSequenceNewTrack(
  _ inSequence: MusicSequence, _ outTrack: UnsafeMutablePointer<MusicTrack?>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceNewTrack", needs: outTrack) { handle in
    unsafe outTrack.pointee = handle.reference(of: handle.sequence.addTrack())
  }
}

/// Removes a track.
@c @implementation
public func MusicSequenceDisposeTrack(_ inSequence: MusicSequence, _ inTrack: MusicTrack)
  -> OSStatus
{
  unsafe withSequence(inSequence, "MusicSequenceDisposeTrack") { handle throws(MusicFailure) in
    let track = try unsafe own(inTrack, of: handle)
    try onMusic { () throws(MusicError) in try handle.sequence.remove(track) }
    handle.forget(track)
  }
}

private func own(_ reference: MusicTrack, of handle: SequenceHandle) throws(MusicFailure)
  -> EventTrack
{
  let track = try unsafe TrackHandle.find(reference)
  guard track.owner === handle else { throw .music(.trackNotFound) }
  return track.track
}

/// Returns the number of tracks.
@c @implementation
public func MusicSequenceGetTrackCount(
  _ inSequence: MusicSequence, _ outNumberOfTracks: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetTrackCount", needs: outNumberOfTracks) {
    unsafe outNumberOfTracks.pointee = UInt32($0.sequence.tracks.count)
  }
}

/// Returns the track of an index.
@c @implementation
public func MusicSequenceGetIndTrack(
  _ inSequence: MusicSequence, _ inTrackIndex: UInt32,
  _ outTrack: UnsafeMutablePointer<MusicTrack?>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetIndTrack", needs: outTrack) {
    handle throws(MusicFailure) in
    let tracks = handle.sequence.tracks
    guard inTrackIndex < tracks.count else { throw .music(.trackIndex(Int(inTrackIndex))) }
    unsafe outTrack.pointee = handle.reference(of: tracks[Int(inTrackIndex)])
  }
}

/// Returns the index of a track.
@c @implementation
public func MusicSequenceGetTrackIndex(
  _ inSequence: MusicSequence, _ inTrack: MusicTrack, _ outTrackIndex: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetTrackIndex", needs: outTrackIndex) {
    handle throws(MusicFailure) in
    let track = try unsafe own(inTrack, of: handle)
    unsafe outTrackIndex.pointee = UInt32(
      try onMusic { () throws(MusicError) in try track.index })
  }
}

/// Returns the tempo track.
@c @implementation
public func MusicSequenceGetTempoTrack(
  _ inSequence: MusicSequence, _ outTrack: UnsafeMutablePointer<MusicTrack?>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetTempoTrack", needs: outTrack) { handle in
    unsafe outTrack.pointee = handle.reference(of: handle.sequence.tempoTrack)
  }
}

// MARK: Settings

/// Sets the graph.
@c @implementation
public func MusicSequenceSetAUGraph(_ inSequence: MusicSequence, _ inGraph: AUGraph?) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceSetAUGraph") { handle throws(MusicFailure) in
    try handle.setGraph(UInt(bitPattern: inGraph))
  }
}

/// Returns the graph.
@c @implementation
public func MusicSequenceGetAUGraph(
  _ inSequence: MusicSequence, _ outGraph: UnsafeMutablePointer<AUGraph?>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetAUGraph", needs: outGraph) {
    handle throws(MusicFailure) in
    unsafe outGraph.pointee = nil
    try handle.makeGraphIfNeeded(withSynthesiser: true)
    unsafe outGraph.pointee = AUGraph(bitPattern: handle.graph)
  }
}

/// Sets the endpoint that plays all tracks.
@c @implementation
public func MusicSequenceSetMIDIEndpoint(
  _ inSequence: MusicSequence, _ inEndpoint: MIDIEndpointRef
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceSetMIDIEndpoint") {
    handle throws(MusicFailure) in
    let destination = try musicDestination(inEndpoint)
    try onMusic { () throws(MusicError) in try handle.sequence.setDestination(destination) }
  }
}

/// Sets what a beat is.
@c @implementation
public func MusicSequenceSetSequenceType(_ inSequence: MusicSequence, _ inType: MusicSequenceType)
  -> OSStatus
{
  unsafe withSequence(inSequence, "MusicSequenceSetSequenceType") { handle throws(MusicFailure) in
    let kinds: [MusicSequenceType: EventSequence.Kind] = [
      .beats: .beats, .seconds: .seconds, .samples: .samples,
    ]
    guard let kind = kinds[inType] else {
      throw .music(.invalidType("there is no type \(inType.rawValue) of sequences"))
    }
    try onMusic { () throws(MusicError) in try handle.sequence.setKind(kind) }
  }
}

/// Returns what a beat is.
@c @implementation
public func MusicSequenceGetSequenceType(
  _ inSequence: MusicSequence, _ outType: UnsafeMutablePointer<MusicSequenceType>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetSequenceType", needs: outType) { handle in
    unsafe outType.pointee =
      switch handle.sequence.kind {
      case .beats: .beats
      case .seconds: .seconds
      case .samples: .samples
      }
  }
}

/// Sets the function that hears of user events.
@c @implementation
public func MusicSequenceSetUserCallback(
  _ inSequence: MusicSequence, _ inCallback: MusicSequenceUserCallback?,
  _ inClientData: UnsafeMutableRawPointer?
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceSetUserCallback") { handle in
    guard let callback = unsafe inCallback else { return handle.sequence.setUserCallback(nil) }
    let target = unsafe UserCallback(function: callback, data: inClientData)
    handle.sequence.setUserCallback { [weak handle] track, beat, data, slice in
      guard let handle else { return }
      target.call(handle, track, beat, data, slice)
    }
  }
}

/// A function of the program with its data.
@safe
private struct UserCallback: @unchecked Sendable {
  let function: MusicSequenceUserCallback
  let data: UnsafeMutableRawPointer?

  init(function: @escaping MusicSequenceUserCallback, data: UnsafeMutableRawPointer?) {
    unsafe self.function = function
    unsafe self.data = data
  }

  func call(
    _ handle: SequenceHandle, _ track: Int, _ beat: Double, _ bytes: [UInt8], _ slice: Range<Double>
  ) {
    guard
      let reference = unsafe handle.reference(of: EventTrack(handle.sequence, id: track)),
      let sequence = unsafe MusicSequence(bitPattern: handle.handle)
    else { return }
    let structure = EventContent.user(bytes).structure.bytes + [0, 0, 0, 0]
    unsafe structure.withUnsafeBytes { structure in
      unsafe function(
        data, sequence, reference, beat,
        structure.baseAddress!.assumingMemoryBound(to: MusicEventUserData.self), slice.lowerBound,
        slice.upperBound)
    }
  }
}

// MARK: Files

private func load(
  _ file: StandardMIDIFile, into handle: SequenceHandle, _ hint: UInt32, _ flags: UInt32
) throws(MusicFailure) {
  guard flags & ~1 == 0 else { throw .badArgument("there are no flags \(flags)") }
  try onMusic { () throws(MusicError) in
    try handle.sequence.load(file, isByChannel: flags & 1 != 0)
  }
}

private func onMIDIFile<Result>(_ body: () throws(MIDIFileError) -> Result) throws(MusicFailure)
  -> Result
{
  do throws(MIDIFileError) { return try body() } catch {
    throw .status(kAudioFileInvalidFileError, "\(error)")
  }
}

/// Throws unless a number stands for MIDI files.
private func check(_ type: UInt32) throws(MusicFailure) {
  guard type == 0 || type == MusicSequenceFileTypeID.midiType.rawValue else {
    throw .status(kAudioFileUnsupportedFileTypeError, "sequences are MIDI files")
  }
}

/// See MusicSequenceFileLoad in MusicPlayer.h.
@c(MusicSequenceFileLoad)
public func loadMusicSequence(
  _ inSequence: MusicSequence, _ inFileRef: UnsafeRawPointer?, _ inFileTypeHint: UInt32,
  _ inFlags: UInt32
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceFileLoad") { handle throws(MusicFailure) in
    try check(inFileTypeHint)
    let path = try unsafe filePath(inFileRef)
    guard unsafe access(path.systemName, R_OK) == 0 else {
      throw .status(
        errno == ENOENT ? kAudioFileFileNotFoundError : kAudioFilePermissionsError,
        unsafe "\(path): \(String(cString: strerror(errno)))")
    }
    let file = try onMIDIFile { () throws(MIDIFileError) in try StandardMIDIFile(path: path) }
    try load(file, into: handle, inFileTypeHint, inFlags)
  }
}

private func filePath(_ reference: UnsafeRawPointer?) throws(MusicFailure) -> String {
  do throws(AudioFileFailure) { return try unsafe path(of: reference) } catch { throw .file(error) }
}

/// See MusicSequenceFileLoadData in MusicPlayer.h.
@c(MusicSequenceFileLoadData)
public func loadMusicSequenceData(
  _ inSequence: MusicSequence, _ inData: UnsafeRawPointer?, _ inFileTypeHint: UInt32,
  _ inFlags: UInt32
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceFileLoadData", needs: inData) {
    handle throws(MusicFailure) in
    try check(inFileTypeHint)
    let data = unsafe Unmanaged<CFData>.fromOpaque(inData!).takeUnretainedValue()
    let bytes = unsafe [UInt8](
      UnsafeBufferPointer(start: CFDataGetBytePtr(data._core), count: CFDataGetLength(data._core)))
    let file = try onMIDIFile { () throws(MIDIFileError) in
      try StandardMIDIFile(bytes, path: "the MIDI file in memory")
    }
    try load(file, into: handle, inFileTypeHint, inFlags)
  }
}

/// See MusicSequenceFileCreate in MusicPlayer.h.
@c(MusicSequenceFileCreate)
public func createMusicSequenceFile(
  _ inSequence: MusicSequence, _ inFileRef: UnsafeRawPointer?, _ inFileType: UInt32,
  _ inFlags: UInt32, _ inResolution: Int16
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceFileCreate") { handle throws(MusicFailure) in
    try check(inFileType)
    let path = try unsafe filePath(inFileRef)
    let erases = inFlags & MusicSequenceFileFlags.eraseFile.rawValue != 0
    if !erases, unsafe access(path.systemName, F_OK) == 0 {
      throw .status(kAudioFilePermissionsError, "\(path) exists")
    }
    do {
      try Data(handle.sequence.file(resolution: Int(inResolution)).bytes)
        .write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw .status(kAudioFilePermissionsError, "\(path) cannot be written: \(error)")
    }
  }
}

/// See MusicSequenceFileCreateData in MusicPlayer.h.
@c(MusicSequenceFileCreateData)
public func createMusicSequenceData(
  _ inSequence: MusicSequence, _ inFileType: UInt32, _ inFlags: UInt32, _ inResolution: Int16,
  _ outData: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceFileCreateData", needs: outData) {
    handle throws(MusicFailure) in
    try check(inFileType)
    let bytes = handle.sequence.file(resolution: Int(inResolution)).bytes
    guard let data = unsafe CFDataCreate(nil, bytes, bytes.count) else {
      throw .status(kAudio_MemFullError, "there is no memory for \(bytes.count) bytes")
    }
    unsafe outData!.pointee = UnsafeRawPointer(Unmanaged.passRetained(data).toOpaque())
  }
}

/// See MusicSequenceGetInfoDictionary in MusicPlayer.h.
@c(MusicSequenceGetInfoDictionary)
public func copyMusicSequenceInfo(_ inSequence: MusicSequence) -> UnsafeRawPointer? {
  var result: UnsafeRawPointer?
  _ = unsafe withSequence(inSequence, "MusicSequenceGetInfoDictionary") { handle in
    let info = makeDictionary(handle.sequence.info.map { ($0.key, $0.value.cfString) })
    unsafe result = UnsafeRawPointer(Unmanaged.passRetained(info).toOpaque())
  }
  return unsafe result
}

// MARK: Time

/// Lets all events come in the opposite order.
@c @implementation
public func MusicSequenceReverse(_ inSequence: MusicSequence) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceReverse") { $0.sequence.reverse() }
}

/// Returns the time of a beat.
@c @implementation
public func MusicSequenceGetSecondsForBeats(
  _ inSequence: MusicSequence, _ inBeats: MusicTimeStamp,
  _ outSeconds: UnsafeMutablePointer<Float64>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetSecondsForBeats", needs: outSeconds) {
    unsafe outSeconds.pointee = $0.sequence.tempoMap.seconds(at: inBeats)
  }
}

/// Returns the beat of a time.
@c @implementation
public func MusicSequenceGetBeatsForSeconds(
  _ inSequence: MusicSequence, _ inSeconds: Float64,
  _ outBeats: UnsafeMutablePointer<MusicTimeStamp>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceGetBeatsForSeconds", needs: outBeats) {
    unsafe outBeats.pointee = $0.sequence.tempoMap.beat(at: inSeconds)
  }
}

/// Returns the bar of a beat.
@c @implementation
public func MusicSequenceBeatsToBarBeatTime(
  _ inSequence: MusicSequence, _ inBeats: MusicTimeStamp, _ inSubbeatDivisor: UInt32,
  _ outBarBeatTime: UnsafeMutablePointer<CABarBeatTime>
) -> OSStatus {
  unsafe withSequence(inSequence, "MusicSequenceBeatsToBarBeatTime", needs: outBarBeatTime) {
    handle throws(MusicFailure) in
    guard (0...EventTrack.mostBeats).contains(inBeats), (1...0xFFFF).contains(inSubbeatDivisor)
    else { throw .badArgument("\(inBeats) beats with \(inSubbeatDivisor) parts") }
    let place = handle.sequence.tempoMap.barBeat(at: inBeats, parts: Int(inSubbeatDivisor))
    unsafe outBarBeatTime.pointee = CABarBeatTime(
      bar: Int32(clamping: place.bar), beat: UInt16(clamping: place.beat),
      subbeat: UInt16(clamping: place.part), subbeatDivisor: UInt16(place.parts), reserved: 0)
  }
}

/// Returns the beat of a bar's beat.
@c @implementation
public func MusicSequenceBarBeatTimeToBeats(
  _ inSequence: MusicSequence, _ inBarBeatTime: UnsafePointer<CABarBeatTime>,
  _ outBeats: UnsafeMutablePointer<MusicTimeStamp>
) -> OSStatus {
  unsafe withSequence(
    inSequence, "MusicSequenceBarBeatTimeToBeats", needs: inBarBeatTime, outBeats
  ) { handle throws(MusicFailure) in
    let time = unsafe inBarBeatTime.pointee
    guard time.bar > 0, time.beat > 0, time.subbeatDivisor > 0 || time.subbeat == 0 else {
      throw .badArgument("bar \(time.bar), beat \(time.beat), \(time.subbeatDivisor) parts")
    }
    unsafe outBeats.pointee = handle.sequence.tempoMap.beat(
      of: TempoMap.BarBeat(
        bar: Int(time.bar), beat: Int(time.beat), part: Int(time.subbeat),
        parts: Int(max(1, time.subbeatDivisor))))
  }
}
