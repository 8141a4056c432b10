import CoreFoundation

/// Makes a dictionary, which retains its values.
func makeDictionary(_ entries: [(String, AnyObject)]) -> CFMutableDictionary {
  unsafe withUnsafePointer(to: kCFTypeDictionaryKeyCallBacks) { keys in
    unsafe withUnsafePointer(to: kCFTypeDictionaryValueCallBacks) { values in
      let dictionary = unsafe CFDictionaryCreateMutable(nil, 0, keys, values)!
      for (key, value) in entries {
        let key = key.cfString
        unsafe CFDictionarySetValue(
          dictionary, Unmanaged.passUnretained(key).toOpaque(),
          Unmanaged.passUnretained(value).toOpaque())
      }
      return dictionary
    }
  }
}

/// Makes an array, which retains its values.
func makeArray(_ values: [AnyObject]) -> CFMutableArray {
  unsafe withUnsafePointer(to: kCFTypeArrayCallBacks) { callbacks in
    let array = unsafe CFArrayCreateMutable(nil, 0, callbacks)!
    for value in values {
      unsafe CFArrayAppendValue(array, Unmanaged.passUnretained(value).toOpaque())
    }
    return array
  }
}

func makeNumber(_ value: Int32) -> CFNumber {
  var value = value
  return unsafe CFNumberCreate(nil, .sInt32Type, &value)
}
