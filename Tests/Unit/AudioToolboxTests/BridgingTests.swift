import AudioToolbox
import Foundation
import Testing

/// Conversions in place of the bridging that Linux lacks are lossless.
@Suite struct BridgingTests {
  @Test(arguments: ["", "jack:studio", "Grüße, 世界 🎻", "a\0b", "e\u{301}"])
  func aStringComesBack(text: String) {
    #expect(text.cfString.string.unicodeScalars.elementsEqual(text.unicodeScalars))
    #expect(CFStringGetLength(text.cfString) == text.utf16.count)
  }

  @Test func halfASurrogatePairIsReplaced() {
    let units: [UniChar] = [0x41, 0xD83C, 0x42]
    #expect(CFStringCreateWithCharacters(nil, units, 3).string == "A\u{FFFD}B")
  }

  @Test(arguments: [
    "/tmp/a song.wav", "/tmp/Grüße/世界?#%41;.wav", "/tmp/folder/", "/", "/tmp/\u{1}.caf",
  ])
  func aFileURLComesBack(path: String) throws {
    let url = URL(fileURLWithPath: path)
    let cfURL = url.cfURL
    #expect(cfURL.url == url)
    #expect(CFURLHasDirectoryPath(cfURL) == url.hasDirectoryPath)
    let same = CFURLCopyFileSystemPath(cfURL, .cfurlposixPathStyle).string
    #expect(same == (path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path))
  }

  @Test func aURLWithABaseComesBack() throws {
    let base = try #require(URL(string: "http://example.com/a/b?c=d#e"))
    #expect(base.cfURL.url == base)
    let url = try #require(URL(string: "../f", relativeTo: base))
    #expect(url.cfURL.url == url && url.cfURL.url?.baseURL == base)
    #expect(CFURLGetString(CFURLCopyAbsoluteURL(url.cfURL)).string == "http://example.com/f")
  }

  @Test func modesOfRunLoopsHaveNames() {
    let mode: CFString = CFRunLoopMode.commonModes.rawValue
    #expect(mode.string == "kCFRunLoopCommonModes")
    CFRunLoopRunInMode(.defaultMode, 0, true)
  }
}
