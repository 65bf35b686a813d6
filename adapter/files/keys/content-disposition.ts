/** What `encodeURIComponent` leaves but RFC 8187 (section 3.2.1) does not allow. */
const NOT_ATTR_CHAR = /['()*]/g;

/**
 * The value of a Content-Disposition header (RFC 6266): the name in UTF-8, and before it one for readers that know no
 * UTF-8, without anything that they may read as escapes or folders.
 */
export function contentDisposition(as: 'attachment' | 'inline', filename: string): string {
  const name = filename.toWellFormed();
  const plain = name.replaceAll(/[^ -~]|["\\%/]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    NOT_ATTR_CHAR,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${as}; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${encoded}`}`;
}
