import AudioToolbox
import Foundation

extension NSError {
  /// The domain of errors of files and engines.
  package static let avfaudio = "com.apple.coreaudio.avfaudio"

  /// Creates an error with a result code of the C functions.
  ///
  /// - Parameter sentence: What failed, of what, and why.
  package convenience init(_ domain: String, _ status: OSStatus, _ sentence: String) {
    self.init(domain: domain, code: Int(status), userInfo: [NSLocalizedDescriptionKey: sentence])
  }
}
