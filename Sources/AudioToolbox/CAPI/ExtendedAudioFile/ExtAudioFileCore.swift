import CAudioToolbox
import Codecs
import Files
import Logging
import RealTime
import Synchronization
import System

/// The object behind an ExtAudioFileRef. Calls go through `call`, one at a time, except for `pushAsync`. In addition a
/// worker thread performs asynchronous writes: code that uses the writer takes the lock or ends those writes first.
final class ExtAudioFileCore: @unchecked Sendable {
  static let all = HandleTable<ExtAudioFileCore>()

  private(set) var file: any MediaFile
  /// The file's AudioFileID, and whether this object closes the file.
  let fileHandle: UInt
  private let ownsFile: Bool
  /// Nil if the file is open for writing.
  let reader: MediaReader?
  /// Nil if the file is open for reading.
  private(set) var writer: MediaWriter?
  /// True while a new file waits for the client's sample rate. Until then its own rate is a provisional
  /// one, and it has no packets.
  private(set) var lacksRate: Bool
  private let lock = Mutex(())
  /// True once the log has told of sound that cannot be decoded.
  private var hasToldMissing = false
  /// Held during each call.
  private let calling = Mutex<Void>(())

  private(set) var client: ConverterFormat?
  private(set) var converter: AudioConverterCore?
  /// The AudioConverterRef of the converter; 0 until an app asks for it.
  private var converterHandle: UInt = 0
  /// The client's channel layout; nil if it was not set.
  private var clientLayout: ChannelLayout?
  private(set) var fileLayout: ChannelLayout?
  private enum Async {
    case none, writer(AsyncWriter), closed
  }
  /// The asynchronous writer. Calls hold it no longer than a push takes.
  private let async = Mutex(Async.none)

  init(
    _ file: any MediaFile, handle: UInt, ownsFile: Bool, isWriting: Bool, lacksRate: Bool = false
  ) throws(ExtAudioFileError) {
    self.file = file
    self.lacksRate = lacksRate
    fileHandle = handle
    self.ownsFile = ownsFile
    do throws(SoundFileError) { fileLayout = try file.layout } catch {
      throw .audioFile(.file(error))
    }
    reader = isWriting ? nil : MediaReader(file)
    do throws(MediaError) {
      writer = isWriting ? try MediaWriter(file) : nil
    } catch {
      throw ExtAudioFileError(error)
    }
    if case .pcm = file.format { try setClient(ConverterFormat(file.format)) }
  }

  /// Runs a converter operation and converts its error.
  private func converting<Value>(
    _ body: () throws(AudioConverterError) -> Value
  ) throws(ExtAudioFileError) -> Value {
    do throws(AudioConverterError) { return try body() } catch { throw .converter(error) }
  }

  private func media(_ body: () throws(MediaError) -> Void) throws(ExtAudioFileError) {
    do throws(MediaError) { try body() } catch { throw ExtAudioFileError(error) }
  }

  // MARK: Formats

  /// Changes the client format.
  func setClient(_ format: ConverterFormat) throws(ExtAudioFileError) {
    guard case .pcm(let samples) = format.stream else { throw .clientNotPCM }
    try endAsync()
    if lacksRate, framesWritten > 0 { lacksRate = false }
    if lacksRate { try takeRate(samples.sampleRate) }
    // Encoded packets form a single stream, so their input format cannot change.
    if case .packets = file.format, let writer, converter != nil, writer.frameCount > 0 {
      throw .order("the client's format cannot change once packets were written")
    }
    let onFile = ConverterFormat(file.format)
    var settings = AudioConverterCore.Settings()
    settings.cookie = reader == nil ? [] : file.cookie
    if let clientLayout, clientLayout.channels == format.stream.channels {
      settings.clientLayouts(clientLayout, fileLayout, isReading: reader != nil)
    }
    let (input, output) = reader == nil ? (format, onFile) : (onFile, format)
    if input.stream.channels == 1 && output.stream.channels == 2 { settings.channelMap = [0, 0] }
    let made = try converting { () throws(AudioConverterError) in
      try AudioConverterCore(input, output, settings)
    }
    // The previous converter's remaining frames go first. It cannot go on afterwards.
    if let writer, let converter, writer.frameCount > 0 {
      try media { () throws(MediaError) in try writer.finish(through: converter.stream) }
    }
    dropConverter()
    converter = made
    client = format
  }

  /// Creates the file anew, with a sample rate.
  private func takeRate(_ rate: Double) throws(ExtAudioFileError) {
    var description = file.format.streamDescription
    description.mSampleRate = rate
    guard let format = StreamFormat(description), MediaFiles.canWrite(format, in: file.container)
    else { throw .format("\(file.container) files have no \(file.format.words) at \(rate) Hz") }
    let old = writer
    // The provisional file writes to the same store, so it must not be closed later.
    try? file.close()
    do throws(SoundFileError) {
      file = try MediaFiles.create(file.store, container: file.container, format: format)
    } catch {
      throw .audioFile(.file(error))
    }
    OpenFile.all.replace(fileHandle, with: OpenFile(media: file, isReadable: true))
    try media { () throws(MediaError) in writer = try MediaWriter(file) }
    if let old {
      writer?.bufferBytes = old.bufferBytes
      writer?.table = old.table
    }
    if let fileLayout { try setFileLayout(fileLayout) }
  }

  /// The file's format. The rate is 0 until it is known.
  var fileDescription: AudioStreamBasicDescription {
    var description = file.format.streamDescription
    if lacksRate, client == nil { description.mSampleRate = 0 }
    return description
  }

  func setClientLayout(_ layout: ChannelLayout) throws(ExtAudioFileError) {
    guard let client, layout.channels == client.stream.channels else {
      throw .channels("a layout of \(layout.channels) channels does not fit the client's format")
    }
    try endAsync()
    clientLayout = layout
    try applyLayouts()
  }

  /// The client's channel layout. Defaults to the file's layout if the channel counts match.
  var layoutOfClient: ChannelLayout? {
    let channels = client?.stream.channels ?? file.format.channels
    return clientLayout ?? fileLayout.flatMap { $0.channels == channels ? $0 : nil }
  }

  /// Sets the file's channel layout. Writes it to the file if the format supports that. For a file
  /// that is read it replaces the file's own layout.
  func setFileLayout(_ layout: ChannelLayout) throws(ExtAudioFileError) {
    guard layout.channels == file.format.channels else {
      throw .channels(
        "the layout has \(layout.channels) channels, the file \(file.format.channels)")
    }
    try endAsync()
    if writer != nil, file.takesLayout {
      do throws(SoundFileError) { try file.setLayout(layout) } catch {
        throw .audioFile(.file(error))
      }
    }
    fileLayout = layout
    try applyLayouts()
  }

  private func applyLayouts() throws(ExtAudioFileError) {
    guard let converter, let clientLayout else { return }
    let isReading = reader != nil
    try converting { () throws(AudioConverterError) in
      try converter.change { $0.clientLayouts(clientLayout, fileLayout, isReading: isReading) }
    }
  }

  /// The AudioConverterRef of the converter; 0 if there is none.
  var handleOfConverter: UInt {
    guard let converter else { return 0 }
    if converterHandle == 0 { converterHandle = AudioConverterCore.all.add { _ in converter } }
    return converterHandle
  }

  private func dropConverter() {
    if converterHandle != 0 { AudioConverterCore.all.remove(converterHandle) }
    converterHandle = 0
    converter = nil
  }

  private func ready() throws(ExtAudioFileError) -> (AudioConverterCore, ConverterFormat) {
    guard let converter, let client else {
      throw .order("the client's format is to be set before packets are read or written")
    }
    return (converter, client)
  }

  // MARK: Reading

  func read(_ list: BufferList, frames: Int) throws(ExtAudioFileError) -> Int {
    guard let reader else { throw .order("the file is open for writing") }
    let (converter, client) = try ready()
    guard let samples = client.samples(list) else {
      throw .badArgument("the buffers do not fit the client's format")
    }
    let room = min(frames, list.leastBytes / samples.bytesPerFrame)
    guard room > 0 || frames == 0 else { throw .badArgument("there is no room for a frame") }
    var sink = StreamConverter.Sink.frames(samples, room: room)
    defer { list.setBytes(sink.count * samples.bytesPerFrame) }
    do throws(MediaError) {
      try reader.read(&sink, through: converter.stream)
    } catch {
      // Returns the frames that came before the failure.
      guard sink.count > 0 else { throw ExtAudioFileError(error) }
      log.warning("ExtAudioFileRead: \(ExtAudioFileError(error).reason)")
    }
    if !hasToldMissing, let words = reader.missing.words(sampleRate: file.format.sampleRate) {
      hasToldMissing = true
      log.warning("ExtAudioFileRead: \(file.path): \(words)")
    }
    return sink.count
  }

  func seek(_ frame: Int64) throws(ExtAudioFileError) {
    guard let reader else { throw .seek(frame) }
    guard frame >= 0, try frame <= length else { throw .seek(frame) }
    reader.seek(to: frame)
  }

  /// The next frame at the file's rate.
  var position: Int64 { reader?.position ?? framesWritten }

  private var framesWritten: Int64 { lock.withLock { _ in writer?.frameCount ?? 0 } }

  /// The length of the sound in frames at the file's rate.
  var length: Int64 {
    get throws(ExtAudioFileError) {
      do throws(MediaError) {
        guard let reader else { return framesWritten }
        return try reader.frameCount
      } catch {
        throw ExtAudioFileError(error)
      }
    }
  }

  // MARK: Writing

  func write(_ samples: SampleBuffers, frames: Int) throws(ExtAudioFileError) {
    guard let writer else { throw .order("the file is open for reading") }
    let (converter, _) = try ready()
    var source = StreamConverter.Source.frames(samples, count: frames)
    try media { () throws(MediaError) in try writer.write(&source, through: converter.stream) }
  }

  func write(_ list: BufferList, frames: Int) throws(ExtAudioFileError) {
    let samples = try samples(list, frames)
    try endAsync()
    try write(samples, frames: frames)
  }

  private func samples(_ list: BufferList, _ frames: Int) throws(ExtAudioFileError) -> SampleBuffers
  {
    let (_, client) = try ready()
    guard let samples = client.samples(list) else {
      throw .badArgument("the buffers do not fit the client's format")
    }
    guard frames * samples.bytesPerFrame <= list.leastBytes else {
      throw .badArgument("a buffer has \(list.leastBytes) bytes, not \(frames) frames")
    }
    return samples
  }

  /// Runs a call on this object once the call of another thread has returned. Fails after `close()`.
  func call(_ body: () throws(ExtAudioFileError) -> Void) throws(ExtAudioFileError) {
    try calling.withLock { _ throws(ExtAudioFileError) in
      if async.withLock({ if case .closed = $0 { true } else { false } }) { throw .noFile }
      try checkAsync()
      try body()
    }
  }

  /// Starts the worker thread for asynchronous writes. Do not call on a thread that must not block.
  func prepareAsync() throws(ExtAudioFileError) {
    if async.withLock({ if case .none = $0 { false } else { true } }) { return }
    guard writer != nil else { throw .order("the file is open for reading") }
    let (_, client) = try ready()
    guard case .pcm(let format) = client.stream else { throw .clientNotPCM }
    let made = AsyncWriter(
      buffers: client.buffers, bytesPerFrame: client.bytesPerPacket,
      // At least four seconds, to bridge times when the disk is busy.
      capacity: max(1 << 15, Int(4 * format.sampleRate))
    ) { [self] pointers, frames in
      guard let samples = unsafe client.samples(at: pointers.pointers) else { return noErr }
      return lock.withLock { _ in
        do throws(ExtAudioFileError) {
          try write(samples, frames: frames)
          return noErr
        } catch {
          log.warning("ExtAudioFileWriteAsync: \(error.reason)")
          return error.status
        }
      }
    }
    async.withLock { $0 = .writer(made) }
    // The first push initialises what later ones use, on a thread that must neither allocate nor lock.
    let nothing = OwnedBufferList(buffers: client.buffers, channelsPerBuffer: 1)
    let list = unsafe BufferList(nothing.list)
    unsafe list.setPointers(made.memory)
    try withExtendedLifetime(nothing) { () throws(ExtAudioFileError) in
      _ = try pushAsync(list, frames: 0)
    }
  }

  /// Copies frames for the worker thread, without waiting. Returns false if there is no worker thread yet.
  func pushAsync(_ list: BufferList, frames: Int) throws(ExtAudioFileError) -> Bool {
    try async.withLock { async throws(ExtAudioFileError) in
      guard case .writer(let writer) = async else { return false }
      if case let status = writer.takeFailure(), status != noErr { throw .asyncFailure(status) }
      guard list.hasData, list.count == writer.buffers,
        frames * writer.bytesPerFrame <= list.leastBytes
      else {
        throw .badArgument("the buffers do not fit the client's format")
      }
      guard frames <= writer.capacity else {
        throw .asyncTooLarge(frames: frames, most: writer.capacity)
      }
      guard writer.push(list, frames: frames) else { throw .asyncOverflow(frames: frames) }
      return true
    }
  }

  /// Throws the worker thread's failure, once.
  private func checkAsync() throws(ExtAudioFileError) {
    let status = async.withLock {
      if case .writer(let writer) = $0 { writer.takeFailure() } else { noErr }
    }
    if status != noErr { throw .asyncFailure(status) }
  }

  /// Waits until all asynchronous writes are complete, and throws if one failed. The caller must
  /// not hold the lock.
  func endAsync() throws(ExtAudioFileError) {
    let ended = async.withLock { async -> AsyncWriter? in
      guard case .writer(let writer) = async else { return nil }
      async = .none
      return writer
    }
    guard let ended else { return }
    ended.end()
    if case let status = ended.takeFailure(), status != noErr { throw .asyncFailure(status) }
  }

  /// Writes all remaining frames, and closes the file if this object owns it. Completes every step
  /// even if one fails, and throws the first failure.
  func close() throws(ExtAudioFileError) {
    try calling.withLock { _ throws(ExtAudioFileError) in try finish() }
  }

  private func finish() throws(ExtAudioFileError) {
    var failure: ExtAudioFileError?
    func attempt(_ body: () throws(ExtAudioFileError) -> Void) {
      do throws(ExtAudioFileError) { try body() } catch { failure = failure ?? error }
    }
    attempt(endAsync)
    async.withLock { $0 = .closed }
    if let writer, let converter {
      attempt { () throws(ExtAudioFileError) in
        try media { () throws(MediaError) in try writer.finish(through: converter.stream) }
      }
    }
    dropConverter()
    if ownsFile {
      OpenFile.all.remove(fileHandle)
      attempt { () throws(ExtAudioFileError) in
        do throws(SoundFileError) { try file.close() } catch { throw .audioFile(.file(error)) }
      }
    }
    if let failure { throw failure }
  }
}

extension AudioConverterCore.Settings {
  /// Sets the channel layouts of the converter from those of the file and the client.
  fileprivate mutating func clientLayouts(
    _ client: ChannelLayout, _ file: ChannelLayout?, isReading: Bool
  ) {
    inputLayout = isReading ? file : client
    outputLayout = isReading ? client : file
    if file != nil { channelMap = nil }
  }
}
