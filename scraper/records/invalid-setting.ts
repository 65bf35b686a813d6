/**
 * A setting of a source that the schema lets pass, but from which nothing can be made, such as an invalid regular
 * expression. Thrown while a source is compiled, before its first request.
 */
export class InvalidSetting extends Error {
  override readonly name = 'InvalidSetting';
  /** Where it stands in the source, such as `filters.drop[0].any[1].value`. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(`${path}: ${message}`);
    this.path = path;
  }
}
