import Analysis
import Files
import Glibc
import Pictures
import RealTime
import Sessions
import System

/// The loudness and the checksum of a file.
struct Measurement {
  /// Nil if it was not asked for, or libebur128 does not support the rate.
  private(set) var figures: SoundFigures?
  private(set) var checksum: FileReport.Checksum?
  /// One line about sound that could not be decoded; empty if all could.
  private(set) var faults: [String] = []

  /// Reads a file as often as the options need it, and writes the pictures. Blocks.
  init(_ file: any MediaFile, _ options: MeasurementOptions) throws(SoundFileError) {
    if options.loudness || options.draws { try measure(file, options) }
    if options.checksum { try sum(file) }
  }

  private mutating func measure(_ file: any MediaFile, _ options: MeasurementOptions)
    throws(SoundFileError)
  {
    let reader = try SoundReader.floats(path: file.path)
    let (channels, rate) = (reader.format.channels, reader.format.sampleRate)
    let loudness =
      options.loudness
      ? LoudnessMeter(channels: channels, sampleRate: rate, roles: file.decodedChannelRoles) : nil
    var peaks =
      options.waveform.map { _ in
        PeakTable(frames: reader.frames, parts: 1000, channels: channels)
      }
    let spectrum = options.spectrum.flatMap { _ in
      Spectrogram(frames: reader.frames, channels: channels, sampleRate: rate)
    }
    if options.loudness, loudness == nil {
      Screen.shared.remark(
        "\(file.path): loudness cannot be measured at \(hertz(rate)) with \(channels) channels")
    }
    try unsafe reader.forEachSamples { samples in
      unsafe peaks?.add(UnsafeBufferPointer(samples))
      unsafe spectrum?.add(UnsafeBufferPointer(samples))
      unsafe loudness?.add(samples)
    }
    faults = reader.faults
    spectrum?.finish()
    figures = loudness?.figures
    let title = "\(printable(fileName(file.path))): \(file.format.summary)"
    if let path = options.waveform, let peaks {
      let names =
        file.decodedChannelRoles?.map(\.description) ?? (1...channels).map { "channel \($0)" }
      let picture = peaks.picture(
        title, seconds: Double(reader.frames) / rate, names: channels == 1 ? [] : names)
      try Self.write(picture, to: path, isReplacing: options.force)
    }
    if let path = options.spectrum, let spectrum {
      try Self.write(spectrum.picture(title), to: path, isReplacing: options.force)
    }
  }

  private static func write(
    _ picture: Picture, to path: String, isReplacing: Bool
  ) throws(SoundFileError) {
    let bytes: [UInt8]
    do throws(PictureError) {
      bytes = try picture.file(PictureFormat(ofFile: path) ?? .png)
    } catch {
      throw SoundFileError(.cannotWrite(error.description), path: path)
    }
    let file = try UnfinishedFile(path, isReplacing: isReplacing)
    try file.naming { () throws(SoundFileError) in try file.store.write(bytes, at: 0) }
    try file.finish()
  }

  private mutating func sum(_ file: any MediaFile) throws(SoundFileError) {
    let form = SampleDigest.form(of: file.format)
    guard let digest = SampleDigest() else { return }
    let reader = try SoundReader(path: file.path, as: form)
    try unsafe reader.forEachPiece { unsafe digest.add(UnsafeRawBufferPointer($0)) }
    faults = reader.faults
    checksum = FileReport.Checksum(sha256: digest.finish(), samples: SampleDigest.name(of: form))
  }
}
