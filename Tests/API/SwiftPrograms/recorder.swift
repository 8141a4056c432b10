// Records from the default input into a file.
//
// Usage: recorder FILE SECONDS

import AudioToolbox
import CoreAudio
import Foundation

final class Recorder {
  var recordFile: AudioFileID?
  var recordPacket: Int64 = 0
  var isRunning = false
}

func checkError(_ error: OSStatus, _ operation: String) {
  guard error != noErr else { return }
  let code = CFSwapInt32HostToBig(UInt32(bitPattern: error))
  let text = withUnsafeBytes(of: code) { bytes in
    bytes.allSatisfy { isprint(Int32($0)) != 0 }
      ? "'\(String(decoding: bytes, as: UTF8.self))'" : "\(error)"
  }
  print("Error: \(operation) (\(text))")
  exit(1)
}

func defaultInputSampleRate() -> Double {
  var deviceID = AudioDeviceID(0)
  var address = AudioObjectPropertyAddress(
    mSelector: kAudioHardwarePropertyDefaultInputDevice,
    mScope: kAudioObjectPropertyScopeGlobal,
    mElement: kAudioObjectPropertyElementMain)
  var size = UInt32(MemoryLayout<AudioDeviceID>.size)
  checkError(
    AudioObjectGetPropertyData(
      AudioObjectID(kAudioObjectSystemObject), &address, 0, nil, &size, &deviceID),
    "couldn't find the default input device")
  var sampleRate = Float64(0)
  address.mSelector = kAudioDevicePropertyNominalSampleRate
  size = UInt32(MemoryLayout.size(ofValue: sampleRate))
  checkError(
    AudioObjectGetPropertyData(deviceID, &address, 0, nil, &size, &sampleRate),
    "couldn't get the input device's sample rate")
  return sampleRate
}

func copyEncoderCookie(from queue: AudioQueueRef, to file: AudioFileID) {
  var size: UInt32 = 0
  guard
    AudioQueueGetPropertySize(queue, kAudioConverterCompressionMagicCookie, &size) == noErr,
    size > 0
  else { return }
  let cookie = UnsafeMutableRawPointer.allocate(byteCount: Int(size), alignment: 1)
  defer { cookie.deallocate() }
  checkError(
    AudioQueueGetProperty(queue, kAudioQueueProperty_MagicCookie, cookie, &size),
    "couldn't get the queue's magic cookie")
  checkError(
    AudioFileSetProperty(file, kAudioFilePropertyMagicCookieData, size, cookie),
    "couldn't set the file's magic cookie")
}

func bufferSize(
  for format: AudioStreamBasicDescription, queue: AudioQueueRef, seconds: Double
) -> Int {
  let frames = Int(ceil(seconds * format.mSampleRate))
  if format.mBytesPerFrame > 0 { return frames * Int(format.mBytesPerFrame) }
  var maxPacketSize = format.mBytesPerPacket
  if maxPacketSize == 0 {
    var size = UInt32(MemoryLayout<UInt32>.size)
    checkError(
      AudioQueueGetProperty(
        queue, kAudioConverterPropertyMaximumOutputPacketSize, &maxPacketSize, &size),
      "couldn't get the maximum packet size")
  }
  let packets = format.mFramesPerPacket > 0 ? frames / Int(format.mFramesPerPacket) : frames
  return max(packets, 1) * Int(maxPacketSize)
}

let inputCallback: AudioQueueInputCallback = {
  inUserData, inQueue, inBuffer, inStartTime, inNumPackets, inPacketDesc in
  guard let inUserData else { return }
  let recorder = Unmanaged<Recorder>.fromOpaque(inUserData).takeUnretainedValue()
  guard let file = recorder.recordFile else { return }
  var packets = inNumPackets
  if packets > 0 {
    checkError(
      AudioFileWritePackets(
        file, false, inBuffer.pointee.mAudioDataByteSize, inPacketDesc, recorder.recordPacket,
        &packets, inBuffer.pointee.mAudioData),
      "AudioFileWritePackets failed")
    recorder.recordPacket += Int64(packets)
  }
  if recorder.isRunning {
    checkError(AudioQueueEnqueueBuffer(inQueue, inBuffer, 0, nil), "couldn't enqueue a buffer")
  }
}

func record(to path: String, seconds: Double) {
  let recorder = Recorder()
  var format = AudioStreamBasicDescription()
  memset(&format, 0, MemoryLayout.size(ofValue: format))
  format.mSampleRate = defaultInputSampleRate()
  format.mChannelsPerFrame = 2
  let url = URL(fileURLWithPath: path)
  if url.pathExtension == "m4a" {
    format.mFormatID = kAudioFormatMPEG4AAC
    var size = UInt32(MemoryLayout.size(ofValue: format))
    checkError(
      AudioFormatGetProperty(kAudioFormatProperty_FormatInfo, 0, nil, &size, &format),
      "AudioFormatGetProperty failed")
  } else {
    format.mFormatID = kAudioFormatLinearPCM
    format.mFormatFlags = kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked
    format.mBitsPerChannel = 16
    format.mBytesPerFrame = 4
    format.mBytesPerPacket = 4
    format.mFramesPerPacket = 1
  }

  var queue: AudioQueueRef?
  checkError(
    AudioQueueNewInput(
      &format, inputCallback, Unmanaged.passUnretained(recorder).toOpaque(), nil, nil, 0, &queue),
    "AudioQueueNewInput failed")
  var size = UInt32(MemoryLayout.size(ofValue: format))
  checkError(
    AudioQueueGetProperty(
      queue!, kAudioConverterCurrentOutputStreamDescription, &format, &size),
    "couldn't get the queue's format")

  let fileType = url.pathExtension == "m4a" ? kAudioFileM4AType : kAudioFileCAFType
  checkError(
    AudioFileCreateWithURL(url as CFURL, fileType, &format, .eraseFile, &recorder.recordFile),
    "AudioFileCreateWithURL failed")
  copyEncoderCookie(from: queue!, to: recorder.recordFile!)

  let bufferByteSize = bufferSize(for: format, queue: queue!, seconds: 0.5)
  for _ in 0..<3 {
    var buffer: AudioQueueBufferRef?
    checkError(
      AudioQueueAllocateBuffer(queue!, UInt32(bufferByteSize), &buffer),
      "AudioQueueAllocateBuffer failed")
    checkError(
      AudioQueueEnqueueBuffer(queue!, buffer!, 0, nil), "AudioQueueEnqueueBuffer failed")
  }
  recorder.isRunning = true
  checkError(AudioQueueStart(queue!, nil), "AudioQueueStart failed")
  print("Recording")
  fflush(nil)
  Thread.sleep(forTimeInterval: seconds)
  recorder.isRunning = false
  checkError(AudioQueueStop(queue!, true), "AudioQueueStop failed")
  copyEncoderCookie(from: queue!, to: recorder.recordFile!)
  AudioQueueDispose(queue!, true)
  AudioFileClose(recorder.recordFile!)
  print("Recorded \(recorder.recordPacket) packets")
}

record(to: CommandLine.arguments[1], seconds: Double(CommandLine.arguments[2]) ?? 1)
