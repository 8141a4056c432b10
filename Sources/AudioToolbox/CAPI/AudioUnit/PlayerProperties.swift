import AudioUnits
import CAudioToolbox
import CRealTime
import Codecs
import Files
import RealTime
import Synchronization
import Timeline

// The properties of the generators that play samples and files.

extension UnitProperty {
  /// The entry of a property of players; nil if it is none, or the unit is no player.
  func playerEntry() -> Entry? {
    guard let player = unit as? PlayerUnit else { return nil }
    switch id {
    case kAudioUnitProperty_CurrentPlayTime:
      return .value(AudioTimeStamp(sampleTime: player.playedFrames ?? -1))
    case kAudioUnitProperty_ScheduleStartTimeStamp:
      return .value(AudioTimeStamp(player.startTime)).setting(try setStart(input.value(), player))
    default: break
    }
    guard let player = unit as? FilePlayerUnit else {
      guard id == kAudioUnitProperty_ScheduleAudioSlice else { return nil }
      return .unreadable(bytes: unsafe MemoryLayout<ScheduledAudioSlice>.size).setting(
        try schedule(player))
    }
    return switch id {
    case kAudioUnitProperty_ScheduledFileIDs:
      .copied(CopiedValue(array: player.fileHandles.withLock { $0 })).setting(try setFiles(player))
    case kAudioUnitProperty_ScheduledFileRegion:
      .unreadable(bytes: unsafe MemoryLayout<ScheduledAudioFileRegion>.size).setting(
        try play(player))
    case kAudioUnitProperty_ScheduledFilePrime:
      .unreadable(bytes: MemoryLayout<UInt32>.size).setting(try prime(player))
    case kAudioUnitProperty_ScheduledFileBufferSizeFrames:
      .value(UInt32(player.readAhead.frames)).setting(
        player.readAhead.frames = try checked(64...1 << 20, "a buffer has 64 to \(1 << 20) frames"))
    case kAudioUnitProperty_ScheduledFileNumberBuffers:
      .value(UInt32(player.readAhead.buffers)).setting(
        player.readAhead.buffers = try checked(2...64, "a player has 2 to 64 buffers"))
    default: nil
    }
  }

  private func setFiles(_ player: FilePlayerUnit) throws(AudioUnitError) {
    let files = input.array(of: UInt.self)
    for file in files where OpenFile.all.object(file) == nil { throw noFile }
    player.fileHandles.withLock { $0 = files }
  }

  private func prime(_ player: FilePlayerUnit) throws(AudioUnitError) {
    _ = try input.value(UInt32.self)
    player.readMore()
  }

  /// Returns the number that the app sets, if it is in a range.
  private func checked(_ range: ClosedRange<UInt32>, _ rule: String) throws(AudioUnitError) -> Int {
    let number = try input.value(UInt32.self)
    guard range.contains(number) else { throw .unit(.invalidValue("\(rule), not \(number)")) }
    return Int(number)
  }

  private func setStart(_ time: AudioTimeStamp, _ player: PlayerUnit) throws(AudioUnitError) {
    let start: PlayerStart
    if time.mFlags.contains(.sampleTimeValid) {
      let frame = try checked(time.mSampleTime)
      start = frame < 0 ? .nextRender : .sample(frame)
    } else if time.mFlags.contains(.hostTimeValid) {
      start = time.mHostTime == 0 ? .nextRender : .host(time.mHostTime)
    } else {
      throw .unit(.invalidValue("the start has neither a sample time nor a host time"))
    }
    try onUnit(player.start(start))
  }

  /// The frame that a time stamp asks for; nil if it asks for none.
  private func frame(_ time: AudioTimeStamp) throws(AudioUnitError) -> Int64? {
    guard time.mFlags.contains(.sampleTimeValid) else { return nil }
    return Int64(held: try checked(time.mSampleTime))
  }

  /// Returns the nearest whole frame.
  private func checked(_ sampleTime: Double) throws(AudioUnitError) -> Double {
    guard sampleTime.isFrameTime else {
      throw .unit(.invalidValue("the sample time \(sampleTime) is no time of a clock"))
    }
    return sampleTime.rounded()
  }

  // MARK: Samples

  private func schedule(_ player: PlayerUnit) throws(AudioUnitError) {
    // The app's structure, whose flags tell it what happens.
    let slice = unsafe SlicePointer(try input.pointer())
    let list = unsafe slice.pointer.pointee.mBufferList
    guard UInt(bitPattern: list) != 0 else {
      throw .badArgument("the slice has no buffers")
    }
    let samples = unsafe UnsafeMutableRawPointer(list).assumingMemoryBound(to: cue_buffer_list.self)
    unsafe slice.pointer.pointee.mFlags = []
    let start = try unsafe frame(slice.pointer.pointee.mTimeStamp)
    try unsafe onUnit(
      player.play(samples, frames: Int(slice.pointer.pointee.mNumberFrames), start: start) {
        slice.follow($0)
      })
  }

  // MARK: Files

  private var noFile: AudioUnitError {
    .status(kAudioUnitErr_InvalidFile, "there is no such file open for reading")
  }

  private func play(_ player: FilePlayerUnit) throws(AudioUnitError) {
    let given = unsafe RegionPointer(try input.pointer())
    let region = unsafe given.pointer.pointee
    let file = unsafe UInt(bitPattern: region.mAudioFile)
    guard player.fileHandles.withLock({ $0.contains(file) }) else {
      throw .status(
        kAudioUnitErr_FileNotSpecified,
        "the region's file is not among those of kAudioUnitProperty_ScheduledFileIDs")
    }
    guard let open = OpenFile.all.object(file), open.isReadable else { throw noFile }
    guard unsafe region.mStartFrame >= 0 else {
      throw .unit(.invalidValue("a region begins at frame 0 or later"))
    }
    let format = try onUnit(player.bus(.output, 0).format)
    let source = try FileSource(
      open.media, handle: file, channels: format.channels, sampleRate: format.sampleRate)
    let (frames, loops) = unsafe (region.mFramesToPlay, region.mLoopCount)
    let part = unsafe PlayerRegion(
      source, start: try frame(region.mTimeStamp), firstFrame: region.mStartFrame,
      frames: frames == .max ? nil : Int64(frames), loops: loops == .max ? .max - 1 : Int(loops))
    let proc = unsafe region.mCompletionProc
    let data = unsafe UInt(bitPattern: region.mCompletionProcUserData)
    try onUnit(
      player.play(part) { end in
        let status: OSStatus
        switch end {
        case .played: status = noErr
        case .cancelled: status = OSStatus(userCanceledErr)
        case .failed(let error): status = AudioUnitError.unit(error).status
        }
        unsafe proc?(UnsafeMutableRawPointer(bitPattern: data), given.pointer, status)
      })
  }
}

/// The app's structure of a slice.
@safe
private struct SlicePointer: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<ScheduledAudioSlice>
  init(_ pointer: UnsafeMutablePointer<ScheduledAudioSlice>) { unsafe self.pointer = pointer }

  func follow(_ kind: PlayerEvent.Kind) {
    switch kind {
    case .began: unsafe pointer.pointee.mFlags.formUnion(.scheduledAudioSliceFlag_BeganToRender)
    case .beganLate:
      unsafe pointer.pointee.mFlags.formUnion([
        .scheduledAudioSliceFlag_BeganToRender, .scheduledAudioSliceFlag_BeganToRenderLate,
      ])
    case .ended, .cancelled:
      unsafe pointer.pointee.mFlags.formUnion(.scheduledAudioSliceFlag_Complete)
      unsafe pointer.pointee.mCompletionProc?(pointer.pointee.mCompletionProcUserData, pointer)
    }
  }
}

/// The app's structure of a region, which is read at once and only handed back afterwards.
@safe
private struct RegionPointer: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<ScheduledAudioFileRegion>
  init(_ pointer: UnsafeMutablePointer<ScheduledAudioFileRegion>) { unsafe self.pointer = pointer }
}

/// A file of the app, converted to the rate and channels of a player.
private final class FileSource: PlayerFile, @unchecked Sendable {
  let sampleRate: Double
  private let file: ExtAudioFileCore

  init(_ media: any MediaFile, handle: UInt, channels: Int, sampleRate: Double)
    throws(AudioUnitError)
  {
    self.sampleRate = media.format.sampleRate
    guard let format = BusFormat.planar(channels: channels, sampleRate: sampleRate),
      let client = ConverterFormat(format.streamDescription)
    else { throw .unit(.formatNotSupported("\(channels) channels at \(sampleRate) Hz")) }
    do throws(ExtAudioFileError) {
      file = try ExtAudioFileCore(media, handle: handle, ownsFile: false, isWriting: false)
      try file.setClient(client)
    } catch {
      throw .status(kAudioUnitErr_InvalidFile, error.reason)
    }
  }

  func seek(to frame: Int64) throws(UnitError) {
    do throws(ExtAudioFileError) { try file.seek(frame) } catch {
      throw .invalidValue(error.reason)
    }
  }

  func read(_ list: UnsafeMutablePointer<cue_buffer_list>, frames: Int) throws(UnitError) -> Int {
    let buffers = unsafe BufferList(
      UnsafeMutableRawPointer(list).assumingMemoryBound(to: AudioBufferList.self))
    do throws(ExtAudioFileError) { return try file.read(buffers, frames: frames) } catch {
      throw .invalidValue(error.reason)
    }
  }
}

extension AudioTimeStamp {
  fileprivate init(sampleTime: Double) {
    self.init()
    mSampleTime = sampleTime
    mFlags = .sampleTimeValid
  }

  /// The start of a player; without a time if it has none.
  fileprivate init(_ start: PlayerStart?) {
    self.init()
    switch start {
    case nil: break
    case .nextRender: self.init(sampleTime: -1)
    case .sample(let frame): self.init(sampleTime: frame)
    case .host(let host):
      mHostTime = host
      mFlags = .hostTimeValid
    }
  }
}
