import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  /** With slashes. */
  readonly name: string;
  readonly content: string;
}

/** Bit 11 of the flags: names are UTF-8. */
const UTF8 = 0x0800;
const DEFLATE = 8;
const VERSION = 20;
/** Above it a zip needs the 64-bit forms, which are not written here. */
const MOST_BYTES = 0xffff_ffff;
const MOST_ENTRIES = 0xffff;

/**
 * A zip file. node:zlib has what is difficult of it, deflate and CRC-32; what is left are three records, and no package for
 * them is among those that the programs come with. Source: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.16.
 *
 * @param at the time of all entries
 * @throws RangeError when it is too large for a zip without extensions
 */
export function zip(entries: readonly ZipEntry[], at: Date): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of entries) {
    const [path, bytes] = [Buffer.from(name, 'utf8'), Buffer.from(content, 'utf8')];
    const packed = deflateRawSync(bytes);
    // What both headers have in common, from the version on.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8, 2);
    common.writeUInt16LE(DEFLATE, 4);
    common.writeUInt32LE(dosTime(at), 6);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(path.length, 22);
    const start = Buffer.concat([signature(0x0403_4b50), common, path]);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([signature(0x0201_4b50), u16(VERSION), common, more, path]));
    parts.push(start, packed);
    offset += start.length + packed.length;
  }
  const index = Buffer.concat(directory);
  if (offset + index.length > MOST_BYTES || entries.length > MOST_ENTRIES) throw new RangeError('too much for one zip');
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(index.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, index, signature(0x0605_4b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

/** Date and time of MS-DOS, to two seconds; it knows no year before 1980. UTC, so that nobody's zone is told. */
function dosTime(at: Date): number {
  const date = ((Math.max(1980, at.getUTCFullYear()) - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}
