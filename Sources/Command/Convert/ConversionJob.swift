import Files
import Glibc
import System

/// A file to convert, and the file to write.
struct ConversionJob {
  let input: String
  let output: String

  /// Returns the jobs that convert files, and folders with everything below them, into a folder.
  static func list(
    _ inputs: some Sequence<String>, into folder: String, _ end: String
  ) throws(SoundFileError) -> [ConversionJob] {
    let folder = folder.withoutLastSlash
    var status = stat()
    if unsafe stat(String(folder).systemName, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
      throw SoundFileError(.cannotWrite("it is no folder"), path: String(folder))
    }
    var jobs: [ConversionJob] = []
    for input in inputs {
      guard SoundFolder.isFolder(input) else {
        jobs.append(ConversionJob(input: input, output: "\(folder)/\(named(fileName(input), end))"))
        continue
      }
      let files = try SoundFolder.files(in: input)
      if files.isEmpty { throw SoundFolder.emptyError(input) }
      for file in files {
        jobs.append(
          ConversionJob(input: "\(input)/\(file)", output: "\(folder)/\(named(file, end))"))
      }
    }
    return jobs
  }

  /// Returns a file's name with another extension.
  private static func named(_ name: String, _ end: String) -> String {
    "\(name.pathStem).\(end)"
  }

  /// Makes the folder of the output, with those that it is in.
  func makeFolder() throws(SoundFileError) {
    let folder = String(output.pathFolder)
    guard makeFolders(folder) else {
      throw SoundFileError(.cannotWrite("the folder cannot be made"), path: folder)
    }
  }
}
