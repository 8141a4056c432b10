// Converts a file to 16-bit AIFF with Extended Audio File Services.
//
// Usage: extconverter SOURCE DESTINATION

import AudioToolbox
import Foundation

enum ConversionError: Error {
  case status(OSStatus, String)
}

@discardableResult
func require(_ status: OSStatus, _ what: String) throws -> OSStatus {
  guard status == noErr else { throw ConversionError.status(status, what) }
  return status
}

struct ExtAudioConverter {
  let source: URL
  let destination: URL

  func convert() throws -> Int {
    var inputFile: ExtAudioFileRef?
    try require(ExtAudioFileOpenURL(source as CFURL, &inputFile), "ExtAudioFileOpenURL")
    guard let inputFile else { return 0 }
    defer { ExtAudioFileDispose(inputFile) }

    var fileFormat = AudioStreamBasicDescription()
    var size = UInt32(MemoryLayout<AudioStreamBasicDescription>.stride)
    try require(
      ExtAudioFileGetProperty(inputFile, kExtAudioFileProperty_FileDataFormat, &size, &fileFormat),
      "file format")

    var outputFormat = AudioStreamBasicDescription(
      mSampleRate: fileFormat.mSampleRate,
      mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagIsBigEndian | kAudioFormatFlagIsSignedInteger
        | kAudioFormatFlagIsPacked,
      mBytesPerPacket: 2 * fileFormat.mChannelsPerFrame,
      mFramesPerPacket: 1,
      mBytesPerFrame: 2 * fileFormat.mChannelsPerFrame,
      mChannelsPerFrame: fileFormat.mChannelsPerFrame,
      mBitsPerChannel: 16,
      mReserved: 0)
    var outputFile: ExtAudioFileRef?
    try require(
      ExtAudioFileCreateWithURL(
        destination as CFURL, kAudioFileAIFFType, &outputFormat, nil,
        AudioFileFlags.eraseFile.rawValue, &outputFile), "ExtAudioFileCreateWithURL")
    guard let outputFile else { return 0 }
    defer { ExtAudioFileDispose(outputFile) }

    // A channel in a buffer of its own.
    var clientFormat = AudioStreamBasicDescription()
    clientFormat.mSampleRate = fileFormat.mSampleRate
    clientFormat.mFormatID = kAudioFormatLinearPCM
    clientFormat.mFormatFlags =
      kAudioFormatFlagsNativeFloatPacked | kAudioFormatFlagIsNonInterleaved
    clientFormat.mBitsPerChannel = 32
    clientFormat.mChannelsPerFrame = fileFormat.mChannelsPerFrame
    clientFormat.mFramesPerPacket = 1
    clientFormat.mBytesPerFrame = 4
    clientFormat.mBytesPerPacket = 4
    for file in [inputFile, outputFile] {
      try require(
        ExtAudioFileSetProperty(
          file, kExtAudioFileProperty_ClientDataFormat,
          UInt32(MemoryLayout.size(ofValue: clientFormat)), &clientFormat), "client format")
    }

    let framesPerBuffer = 4096
    let buffers = AudioBufferList.allocate(maximumBuffers: Int(clientFormat.mChannelsPerFrame))
    let channels = (0..<buffers.count).map { _ in
      UnsafeMutablePointer<Float>.allocate(capacity: framesPerBuffer)
    }
    defer {
      channels.forEach { $0.deallocate() }
      free(buffers.unsafeMutablePointer)
    }
    var total = 0
    while true {
      for (index, channel) in channels.enumerated() {
        buffers[index] = AudioBuffer(
          mNumberChannels: 1, mDataByteSize: UInt32(framesPerBuffer * MemoryLayout<Float>.size),
          mData: channel)
      }
      var frameCount = UInt32(framesPerBuffer)
      try require(
        ExtAudioFileRead(inputFile, &frameCount, buffers.unsafeMutablePointer), "ExtAudioFileRead")
      if frameCount == 0 { break }
      try require(
        ExtAudioFileWrite(outputFile, frameCount, buffers.unsafePointer), "ExtAudioFileWrite")
      total += Int(frameCount)
    }
    return total
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  print("Usage: extconverter SOURCE DESTINATION")
  exit(64)
}
do {
  let converter = ExtAudioConverter(
    source: URL(fileURLWithPath: arguments[1]), destination: URL(fileURLWithPath: arguments[2]))
  print("Converted \(try converter.convert()) frames")
} catch ConversionError.status(let status, let what) {
  print("\(what) failed: \(status)")
  exit(1)
}
