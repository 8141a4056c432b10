// Converts a file to 16-bit CAF with an audio converter.
//
// Usage: converter SOURCE DESTINATION

import AudioToolbox
import Foundation

final class AudioConverterSettings {
  var inputFormat = AudioStreamBasicDescription()
  var outputFormat = AudioStreamBasicDescription()
  var inputFile: AudioFileID?
  var outputFile: AudioFileID?
  var inputFilePacketIndex: UInt64 = 0
  var inputFilePacketCount: UInt64 = 0
  var inputFilePacketMaxSize: UInt32 = 0
  var inputFilePacketDescriptions: UnsafeMutablePointer<AudioStreamPacketDescription>?
  var sourceBuffer: UnsafeMutableRawPointer?

  deinit {
    inputFilePacketDescriptions?.deallocate()
    free(sourceBuffer)
  }
}

func checkResult(_ result: OSStatus, _ operation: String) {
  if result == noErr { return }
  print("Error: \(operation) (\(result))")
  exit(1)
}

func inputDataProc(
  _ inAudioConverter: AudioConverterRef,
  _ ioDataPacketCount: UnsafeMutablePointer<UInt32>,
  _ ioData: UnsafeMutablePointer<AudioBufferList>,
  _ outDataPacketDescription: UnsafeMutablePointer<
    UnsafeMutablePointer<AudioStreamPacketDescription>?
  >?,
  _ inUserData: UnsafeMutableRawPointer?
) -> OSStatus {
  let settings = Unmanaged<AudioConverterSettings>.fromOpaque(inUserData!).takeUnretainedValue()
  ioData.pointee.mBuffers.mData = nil
  ioData.pointee.mBuffers.mDataByteSize = 0

  let left = settings.inputFilePacketCount - settings.inputFilePacketIndex
  if UInt64(ioDataPacketCount.pointee) > left { ioDataPacketCount.pointee = UInt32(left) }
  if ioDataPacketCount.pointee == 0 { return noErr }

  free(settings.sourceBuffer)
  settings.inputFilePacketDescriptions?.deallocate()
  settings.inputFilePacketDescriptions = nil
  var byteCount = ioDataPacketCount.pointee * settings.inputFilePacketMaxSize
  settings.sourceBuffer = calloc(1, Int(byteCount))
  if outDataPacketDescription != nil {
    settings.inputFilePacketDescriptions = .allocate(capacity: Int(ioDataPacketCount.pointee))
  }
  var result = AudioFileReadPacketData(
    settings.inputFile!, true, &byteCount, settings.inputFilePacketDescriptions,
    Int64(settings.inputFilePacketIndex), ioDataPacketCount, settings.sourceBuffer)
  if result == kAudioFileEndOfFileError && ioDataPacketCount.pointee > 0 { result = noErr }
  settings.inputFilePacketIndex += UInt64(ioDataPacketCount.pointee)
  ioData.pointee.mBuffers.mData = settings.sourceBuffer
  ioData.pointee.mBuffers.mDataByteSize = byteCount
  outDataPacketDescription?.pointee = settings.inputFilePacketDescriptions
  return result
}

func convert(_ settings: AudioConverterSettings) -> Int64 {
  var audioConverter: AudioConverterRef?
  checkResult(
    AudioConverterNew(&settings.inputFormat, &settings.outputFormat, &audioConverter),
    "AudioConverterNew failed")
  var cookieSize: UInt32 = 0
  if AudioFileGetPropertyInfo(
    settings.inputFile!, kAudioFilePropertyMagicCookieData, &cookieSize, nil) == noErr,
    cookieSize > 0
  {
    var cookie = Data(count: Int(cookieSize))
    cookie.withUnsafeMutableBytes { bytes in
      checkResult(
        AudioFileGetProperty(
          settings.inputFile!, kAudioFilePropertyMagicCookieData, &cookieSize,
          bytes.baseAddress!), "no cookie")
      checkResult(
        AudioConverterSetProperty(
          audioConverter!, kAudioConverterDecompressionMagicCookie, cookieSize,
          bytes.baseAddress!), "the cookie was refused")
    }
  }

  let packetsPerBuffer: UInt32 = 1024
  let outputBufferSize = packetsPerBuffer * settings.outputFormat.mBytesPerPacket
  let outputBuffer = UnsafeMutableRawPointer.allocate(
    byteCount: Int(outputBufferSize), alignment: MemoryLayout<Int16>.alignment)
  defer { outputBuffer.deallocate() }
  var outputFilePacketPosition: Int64 = 0
  while true {
    var convertedData = AudioBufferList()
    convertedData.mNumberBuffers = 1
    convertedData.mBuffers.mNumberChannels = settings.outputFormat.mChannelsPerFrame
    convertedData.mBuffers.mDataByteSize = outputBufferSize
    convertedData.mBuffers.mData = outputBuffer
    var ioOutputDataPackets = packetsPerBuffer
    let error = AudioConverterFillComplexBuffer(
      audioConverter!, inputDataProc, Unmanaged.passUnretained(settings).toOpaque(),
      &ioOutputDataPackets, &convertedData, nil)
    checkResult(error, "AudioConverterFillComplexBuffer failed")
    if ioOutputDataPackets == 0 { break }
    checkResult(
      AudioFileWritePackets(
        settings.outputFile!, false, convertedData.mBuffers.mDataByteSize, nil,
        outputFilePacketPosition, &ioOutputDataPackets, convertedData.mBuffers.mData!),
      "AudioFileWritePackets failed")
    outputFilePacketPosition += Int64(ioOutputDataPackets)
  }
  AudioConverterDispose(audioConverter!)
  return outputFilePacketPosition
}

let settings = AudioConverterSettings()
let sourceURL = URL(fileURLWithPath: CommandLine.arguments[1])
let destinationURL = CFURLCreateWithFileSystemPath(
  kCFAllocatorDefault, CommandLine.arguments[2] as CFString, .cfurlposixPathStyle, false)!
checkResult(
  AudioFileOpenURL(sourceURL as CFURL, .readPermission, 0, &settings.inputFile),
  "AudioFileOpenURL failed")
var propertySize = UInt32(MemoryLayout<AudioStreamBasicDescription>.size)
checkResult(
  AudioFileGetProperty(
    settings.inputFile!, kAudioFilePropertyDataFormat, &propertySize, &settings.inputFormat),
  "couldn't get the file's data format")
propertySize = UInt32(MemoryLayout<UInt64>.size)
checkResult(
  AudioFileGetProperty(
    settings.inputFile!, kAudioFilePropertyAudioDataPacketCount, &propertySize,
    &settings.inputFilePacketCount), "couldn't get the file's packet count")
propertySize = UInt32(MemoryLayout<UInt32>.size)
checkResult(
  AudioFileGetProperty(
    settings.inputFile!, kAudioFilePropertyMaximumPacketSize, &propertySize,
    &settings.inputFilePacketMaxSize), "couldn't get the file's maximum packet size")

settings.outputFormat.mSampleRate = settings.inputFormat.mSampleRate
settings.outputFormat.mFormatID = kAudioFormatLinearPCM
settings.outputFormat.mFormatFlags =
  kLinearPCMFormatFlagIsSignedInteger | kLinearPCMFormatFlagIsPacked
settings.outputFormat.mChannelsPerFrame = settings.inputFormat.mChannelsPerFrame
settings.outputFormat.mBitsPerChannel = 16
settings.outputFormat.mBytesPerFrame = 2 * settings.inputFormat.mChannelsPerFrame
settings.outputFormat.mBytesPerPacket = settings.outputFormat.mBytesPerFrame
settings.outputFormat.mFramesPerPacket = 1
checkResult(
  AudioFileCreateWithURL(
    destinationURL, kAudioFileCAFType, &settings.outputFormat, AudioFileFlags.eraseFile,
    &settings.outputFile), "AudioFileCreateWithURL failed")
let packets = convert(settings)
AudioFileClose(settings.inputFile!)
AudioFileClose(settings.outputFile!)
print("Converted \(packets) packets")
