import AudioToolbox
import Codecs
import Files
import Foundation
import Logging
import RealTime
import System

/// A sound file with the converter between its format and that of a program's buffers.
struct OpenedFile {
  enum End {
    case reader(MediaReader)
    case writer(MediaWriter)
  }
  let end: End
  let fileFormat: AVAudioFormat
  let processingFormat: AVAudioFormat
  let converter: StreamConverter

  /// Opens a file for reading.
  init(reading url: URL, _ common: AVAudioCommonFormat, isInterleaved: Bool) throws {
    try Self.checkIsFile(url)
    try self.init(
      reading: MediaFiles.open(path: url.path, decodesOthers: true), common,
      isInterleaved: isInterleaved)
  }

  /// Takes a file for reading.
  init(
    reading file: any MediaFile, _ common: AVAudioCommonFormat, isInterleaved: Bool
  ) throws {
    let channels = file.format.channels
    let roles = file.decodedChannelRoles.flatMap { $0.count == channels ? $0 : nil }
    let layout = roles.map { ChannelLayout(roles: $0) } ?? ChannelLayout(channels: channels)
    (processingFormat, fileFormat) = try Self.formats(
      common, file.format, layout, cookie: file.cookie, isInterleaved)
    var options = StreamConverter.Options()
    options.cookie = file.cookie
    converter = try StreamConverter(
      from: file.format, to: Self.stream(processingFormat), options)
    end = .reader(MediaReader(file))
  }

  /// What a new file is to be.
  struct Draft {
    let container: Container
    /// Converts from the format of the buffers to that of the file.
    let converter: StreamConverter
    let fileFormat: AVAudioFormat
    let processingFormat: AVAudioFormat
    fileprivate let plan: ChannelPlan

    init(
      _ url: URL, _ values: [String: Any], _ common: AVAudioCommonFormat, isInterleaved: Bool
    ) throws {
      try checkIsFile(url)
      let settings = AudioSettings(values)
      let type = try settings.count(AVAudioFileTypeKey)
      guard let container = type.map({ Container(typeID: $0) }) ?? Container(forPath: url.path)
      else {
        throw NSError(
          NSError.avfaudio, kAudioFileUnsupportedFileTypeError,
          "\(url.path): neither \(AVAudioFileTypeKey) nor the name tells a type of file that can be written"
        )
      }
      let described = try settings.streamDescription(isInFile: true)
      guard var format = ConverterFormat(described)?.stream else {
        throw AudioSettings.Fault(reason: "the settings describe no format that can be written")
      }
      if case .pcm(var pcm) = format, pcm.bitsPerSample == 8,
        !MediaFiles.canWrite(format, in: container)
      {
        // WAVE files have no signed bytes.
        pcm.kind = .unsignedInteger
        format = .pcm(pcm)
      }
      let layout = try settings.layout?.value ?? ChannelLayout(channels: format.channels)
      let (processing, _) = try formats(common, format, layout, cookie: [], isInterleaved)

      plan = ChannelPlan(layout.roles, to: format, in: container)
      var options = try settings.converterSettings(channels: format.channels)
        .options(inputs: format.channels, outputs: format.channels)
      options.mix = .map(plan.order)
      options.encoding.channelMask = plan.channelMask
      converter = try StreamConverter(from: stream(processing), to: format, options)
      (processingFormat, fileFormat) = try formats(
        common, converter.output, layout, cookie: converter.encoder?.cookie ?? [], isInterleaved)
      self.container = container
    }
  }

  /// Creates a file.
  init(
    writing url: URL, _ values: [String: Any], _ common: AVAudioCommonFormat, isInterleaved: Bool
  ) throws {
    let draft = try Draft(url, values, common, isInterleaved: isInterleaved)
    if let remark = draft.plan.remark { log.warning("AVAudioFile: \(url.path): \(remark)") }
    let file = try MediaFiles.create(
      path: url.path, container: draft.container, format: draft.converter.output, isReplacing: true)
    if let roles = draft.plan.stored { try file.setChannelRoles(roles) }
    (processingFormat, fileFormat) = (draft.processingFormat, draft.fileFormat)
    converter = draft.converter
    end = .writer(try MediaWriter(file))
  }

  private static func checkIsFile(_ url: URL) throws {
    if url.isFileURL { return }
    throw NSError(NSError.avfaudio, kAudio_BadFilePathError, "\(url): it names no file")
  }

  private static func stream(_ format: AVAudioFormat) throws -> StreamFormat {
    guard let stream = format.format?.stream else {
      throw AudioSettings.Fault(reason: "\(format) is no format")
    }
    return stream
  }

  /// Returns the formats of the buffers and of the file.
  private static func formats(
    _ common: AVAudioCommonFormat, _ format: StreamFormat, _ layout: ChannelLayout,
    cookie: [UInt8], _ isInterleaved: Bool
  ) throws -> (processing: AVAudioFormat, file: AVAudioFormat) {
    guard layout.channels == format.channels else {
      throw AudioSettings.Fault(
        reason: "a layout of \(layout.channels) channels does not fit \(format.channels)")
    }
    let layout = layout.telling.map { AVAudioChannelLayout($0) }
    guard
      let processing = AVAudioFormat(
        common, sampleRate: format.sampleRate, channels: UInt32(format.channels),
        isInterleaved: isInterleaved, layout),
      let file = AVAudioFormat(
        ConverterFormat(format).streamDescription, layout,
        cookie: cookie.isEmpty ? nil : Data(cookie))
    else {
      throw AudioSettings.Fault(
        reason:
          "there are no buffers of \(common) for \(format.channels) channels at \(format.sampleRate) Hz"
      )
    }
    return (processing, file)
  }

  /// Returns the error for a program, which names the file.
  static func failure(_ error: any Error, _ url: URL) -> NSError {
    failure(error, named: url.path)
  }

  /// Returns the error for a program.
  ///
  /// - Parameter name: The name of the file in the error's text.
  static func failure(_ error: any Error, named name: String) -> NSError {
    let known: ExtAudioFileError
    switch error {
    case let error as ExtAudioFileError: known = error
    case let error as SoundFileError: known = .audioFile(.file(error))
    case let error as MediaError: known = ExtAudioFileError(error)
    case let error as StreamConverter.Failure: known = .converter(AudioConverterError(error))
    case let error as AudioSettings.Fault: known = .audioFile(.badFormat(error.reason))
    default: return error as NSError
    }
    let reason = known.reason
    return NSError(
      NSError.avfaudio, known.status,
      reason.contains(name) ? reason : "\(name): \(reason)")
  }
}
