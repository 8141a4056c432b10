import AudioToolbox
import CoreFoundation
import Foundation
import TestSupport
import Testing

/// Values become objects of Core Foundation and come back without a loss, by casts as on Apple's systems.
@Suite struct BridgingTests {
  @Test(arguments: ["", "jack:studio", "Grüße, 世界 🎻", "a\0b", "e\u{301}"])
  func aStringComesBack(text: String) {
    let string = text as CFString
    expectTrue((string as String).unicodeScalars.elementsEqual(text.unicodeScalars))
    expectEqual(CFStringGetLength(string), text.utf16.count)
    expectEqual(CFGetTypeID(string), CFStringGetTypeID())
  }

  @Test func halfASurrogatePairIsReplaced() {
    let units: [UniChar] = [0x41, 0xD83C, 0x42]
    let string = Unmanaged<CFString>.fromOpaque(
      Unmanaged.passRetained(CFStringCreateWithCharacters(nil, units, 3)).toOpaque())
    expectTrue(string.takeRetainedValue() as String == "A\u{FFFD}B")
  }

  @Test(arguments: [
    "/tmp/a song.wav", "/tmp/Grüße/世界?#%41;.wav", "/tmp/folder/", "/", "/tmp/\u{1}.caf",
  ])
  func aFileURLComesBack(path: String) throws {
    let url = URL(fileURLWithPath: path) as CFURL
    expectTrue(url as URL == URL(fileURLWithPath: path))
    let same = CFURLCopyFileSystemPath(url, .cfurlposixPathStyle) as String?
    expectEqual(same, (path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path))
    let made = CFURLCreateWithFileSystemPath(
      kCFAllocatorDefault, path as CFString, .cfurlposixPathStyle, path.hasSuffix("/"))
    expectEqual((try require(made) as URL).path, (url as URL).path)
    // Without an annotation it is a CFURL, too.
    let unnamed = CFURLCreateFromFileSystemRepresentation(
      kCFAllocatorDefault, path, path.utf8.count, path.hasSuffix("/"))
    let named: CFURL = try require(unnamed)
    expectEqual((named as URL).path, (url as URL).path)
  }

  @Test func collectionsAndDataComeBack() throws {
    let values = [1, 2] as CFArray
    expectTrue(CFArrayGetCount(values) == 2 && values as? [Int] == [1, 2])
    let dictionary = ["name": "built in", "channels": 2] as CFDictionary
    expectEqual(CFDictionaryGetCount(dictionary), 2)
    expectEqual(dictionary["name"] as? String, "built in")
    expectEqual((dictionary as? [String: Any])?["channels"] as? Int, 2)
    let data = Data([1, 2, 3]) as CFData
    expectTrue(
      CFDataGetLength(data) == 3 && CFDataGetBytePtr(data)[2] == 3 && (data as Data).count == 3)
    let error = CocoaError(.fileNoSuchFile) as NSError as CFError
    expectEqual(error.code, CocoaError.fileNoSuchFile.rawValue)
    let anything: CFTypeRef = "text" as CFString
    expectEqual(anything as? String, "text")
  }

  @Test func modesOfRunLoopsHaveNames() {
    let mode: CFString = CFRunLoopMode.commonModes.rawValue
    expectTrue(mode as String == "kCFRunLoopCommonModes")
    CFRunLoopRunInMode(.defaultMode, 0, true)
  }

  /// The fields of structures and the parameters that hold a string have both spellings.
  @Test func namesInStructuresAreStrings() {
    var preset = AUPreset(presetNumber: -1, presetName: Unmanaged.passRetained("Hall" as CFString))
    expectTrue(preset.presetName?.takeRetainedValue() as String? == "Hall")
    preset.presetName = nil
    expectNil(AUPreset(presetNumber: 0, presetName: nil).presetName)
    var assignment = AudioQueueChannelAssignment(mDeviceUID: nil, mChannelNumber: 1)
    assignment.mDeviceUID = Unmanaged.passRetained("jack:studio" as CFString)
    expectTrue(assignment.mDeviceUID?.takeRetainedValue() as String? == "jack:studio")
    var description = AudioComponentDescription(
      componentType: kAudioUnitType_Mixer, componentSubType: kAudioUnitSubType_MultiChannelMixer,
      componentManufacturer: kAudioUnitManufacturer_Apple, componentFlags: 0,
      componentFlagsMask: 0)
    let component = AudioComponentFindNext(nil, &description)!
    var name: Unmanaged<CFString>?
    expectEqual(AudioComponentCopyName(component, &name), noErr)
    expectEqual((name?.takeRetainedValue() as String?)?.isEmpty, false)
  }

  @Test func namesOfFileTypesAreStrings() {
    var type = kAudioFileWAVEType
    var size = UInt32(MemoryLayout<CFString?>.size)
    var unmanaged: Unmanaged<CFString>?
    expectEqual(
      AudioFileGetGlobalInfo(kAudioFileGlobalInfo_FileTypeName, 4, &type, &size, &unmanaged), noErr)
    let name = unmanaged?.takeRetainedValue() as String?
    expectEqual(name?.isEmpty, false)
    var list: Unmanaged<CFArray>?
    expectEqual(
      AudioFileGetGlobalInfo(kAudioFileGlobalInfo_AllExtensions, 0, nil, &size, &list), noErr)
    let extensions = list?.takeRetainedValue()
    expectEqual((extensions as? [String])?.contains("wav"), true)
    expectTrue(extensions?.contains("wav") == true && extensions?[0] is String)
  }

  /// The information on a file is a dictionary whose values its subscript reads.
  @Test func informationOnAFileIsADictionary() throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("\(UUID().uuidString).caf")
    defer { try? FileManager.default.removeItem(at: url) }
    var format = AudioStreamBasicDescription(
      mSampleRate: 48000, mFormatID: kAudioFormatLinearPCM,
      mFormatFlags: kAudioFormatFlagIsSignedInteger | kAudioFormatFlagIsPacked, mBytesPerPacket: 2,
      mFramesPerPacket: 1, mBytesPerFrame: 2, mChannelsPerFrame: 1, mBitsPerChannel: 16,
      mReserved: 0)
    var file: AudioFileID?
    try require(
      AudioFileCreateWithURL(url as CFURL, kAudioFileCAFType, &format, .eraseFile, &file) == noErr)
    let made = try require(file)
    var tags = [kAFInfoDictionary_Title: "Gräfin", kAFInfoDictionary_Year: 1999] as CFDictionary
    let size = UInt32(MemoryLayout<CFDictionary>.size)
    let status = withUnsafePointer(to: &tags) {
      AudioFileSetProperty(made, kAudioFilePropertyInfoDictionary, size, $0)
    }
    expectTrue(status == noErr && AudioFileClose(made) == noErr)

    try require(AudioFileOpenURL(url as CFURL, .readPermission, 0, &file) == noErr)
    defer { AudioFileClose(file!) }
    var read: Unmanaged<CFDictionary>?
    var readSize = size
    expectEqual(
      AudioFileGetProperty(file!, kAudioFilePropertyInfoDictionary, &readSize, &read), noErr)
    let information = try require(read?.takeRetainedValue())
    expectEqual(information[kAFInfoDictionary_Title] as? String, "Gräfin")
    expectEqual((information as? [String: Any])?[kAFInfoDictionary_Year] as? String, "1999")
  }
}
