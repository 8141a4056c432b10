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
  func playerEntry() -> PropertyEntry? {
    guard let player = unit as? PlayerUnit else { return nil }
    switch id {
    case kAudioUnitProperty_CurrentPlayTime:
      return entry(get: { AudioTimeStamp(sampleTime: player.playedFrames ?? -1) })
    case kAudioUnitProperty_ScheduleStartTimeStamp:
      return entry(get: { AudioTimeStamp(player.startTime) }) { (time) throws(AudioUnitError) in
        try setStart(time, player)
      }
    default: break
    }
    guard let player = unit as? FilePlayerUnit else {
      guard id == kAudioUnitProperty_ScheduleAudioSlice else { return nil }
      return unsafe entry(bytes: MemoryLayout<ScheduledAudioSlice>.size) {
        (data) throws(AudioUnitError) in unsafe try schedule(data, player)
      }
    }
    switch id {
    case kAudioUnitProperty_ScheduledFileIDs:
      return unsafe entry(CopiedValue(array: player.fileHandles.withLock { $0 })) {
        (data) throws(AudioUnitError) in
        let files = (0..<data.count / MemoryLayout<UInt>.size).map {
          unsafe data.loadUnaligned(
            fromByteOffset: $0 * MemoryLayout<UInt>.size, as: UInt.self)
        }
        for file in files where OpenFile.all.object(file) == nil { throw noFile }
        player.fileHandles.withLock { $0 = files }
      }
    case kAudioUnitProperty_ScheduledFileRegion:
      return unsafe entry(bytes: MemoryLayout<ScheduledAudioFileRegion>.size) {
        (data) throws(AudioUnitError) in unsafe try play(data, player)
      }
    case kAudioUnitProperty_ScheduledFilePrime:
      return unsafe entry(bytes: MemoryLayout<UInt32>.size) { (data) throws(AudioUnitError) in
        _ = unsafe try input(data, UInt32.self)
        player.readMore()
      }
    case kAudioUnitProperty_ScheduledFileBufferSizeFrames:
      return entry(get: { UInt32(player.readAhead.frames) }) { (frames) throws(AudioUnitError) in
        guard (64...1 << 20).contains(frames) else {
          throw .unit(.invalidValue("a buffer has 64 to \(1 << 20) frames, not \(frames)"))
        }
        player.readAhead.frames = Int(frames)
      }
    case kAudioUnitProperty_ScheduledFileNumberBuffers:
      return entry(get: { UInt32(player.readAhead.buffers) }) { (count) throws(AudioUnitError) in
        guard (2...64).contains(count) else {
          throw .unit(.invalidValue("a player has 2 to 64 buffers, not \(count)"))
        }
        player.readAhead.buffers = Int(count)
      }
    default: return nil
    }
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
    try translatingErrors { () throws(UnitError) in try player.start(start) }
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

  private func schedule(_ data: UnsafeRawBufferPointer, _ player: PlayerUnit)
    throws(AudioUnitError)
  {
    let size = unsafe MemoryLayout<ScheduledAudioSlice>.size
    guard data.count >= size, let address = data.baseAddress else {
      throw .badArgument("the property \(id) has \(size) bytes, not \(data.count)")
    }
    // The app's structure, whose flags tell it what happens.
    let slice = unsafe SlicePointer(
      UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(to: ScheduledAudioSlice.self))
    let list = unsafe slice.pointer.pointee.mBufferList
    guard UInt(bitPattern: list) != 0 else {
      throw .badArgument("the slice has no buffers")
    }
    let samples = unsafe UnsafeMutableRawPointer(list).assumingMemoryBound(to: cue_buffer_list.self)
    unsafe slice.pointer.pointee.mFlags = []
    let start = try unsafe frame(slice.pointer.pointee.mTimeStamp)
    try translatingErrors { () throws(UnitError) in
      try unsafe player.play(
        samples, frames: Int(slice.pointer.pointee.mNumberFrames), start: start
      ) { slice.follow($0) }
    }
  }

  // MARK: Files

  private var noFile: AudioUnitError {
    .status(kAudioUnitErr_InvalidFile, "there is no such file open for reading")
  }

  private func play(_ data: UnsafeRawBufferPointer, _ player: FilePlayerUnit)
    throws(AudioUnitError)
  {
    let size = unsafe MemoryLayout<ScheduledAudioFileRegion>.size
    guard data.count >= size, let address = data.baseAddress else {
      throw .badArgument("the property \(id) has \(size) bytes, not \(data.count)")
    }
    let given = unsafe RegionPointer(
      UnsafeMutableRawPointer(mutating: address).assumingMemoryBound(
        to: ScheduledAudioFileRegion.self))
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
    let format = try translatingErrors { () throws(UnitError) in try player.bus(.output, 0).format }
    let source = try FileSource(
      open.media, handle: file, channels: format.channels, sampleRate: format.sampleRate)
    let (frames, loops) = unsafe (region.mFramesToPlay, region.mLoopCount)
    let part = unsafe PlayerRegion(
      source, start: try frame(region.mTimeStamp), firstFrame: region.mStartFrame,
      frames: frames == .max ? nil : Int64(frames), loops: loops == .max ? .max - 1 : Int(loops))
    let proc = unsafe region.mCompletionProc
    let data = unsafe UInt(bitPattern: region.mCompletionProcUserData)
    try translatingErrors { () throws(UnitError) in
      try player.play(part) { end in
        let status: OSStatus
        switch end {
        case .played: status = noErr
        case .cancelled: status = OSStatus(userCanceledErr)
        case .failed(let error): status = AudioUnitError.unit(error).status
        }
        unsafe proc?(UnsafeMutableRawPointer(bitPattern: data), given.pointer, status)
      }
    }
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
