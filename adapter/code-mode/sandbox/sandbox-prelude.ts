/**
 * JavaScript that runs inside the engine before the code: an expression that gives a function. Called with the
 * functions of the host and the limits, it defines `call_tool` and `console` and returns what the host calls.
 *
 * It keeps the built-ins that it needs, so code that replaces them changes only itself. All texts that pass the border
 * are JSON: C strings would end at a NUL and lose lone surrogates.
 */
export const PRELUDE = `(function (host, limits) {
  'use strict';
  const { admit, send, print } = host;
  const { parallelCalls, outputBytes } = limits;
  const { parse, stringify } = JSON;
  const { apply, getPrototypeOf } = Reflect;
  const { isArray } = Array;
  const { defineProperty } = Object;
  const { slice } = String.prototype;
  const Text = String;
  const Failure = Error;
  const Wrong = SyntaxError;
  const Future = Promise;
  const isError = (value) => {
    for (let level = 0; level < 8 && value !== null && typeof value === 'object'; level++) {
      if (value === Failure.prototype) return true;
      value = getPrototypeOf(value);
    }
    return false;
  };
  const firstOf = (text, length) => (text.length > length ? apply(slice, text, [0, length]) : text);
  const define = (target, name, value) =>
    defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

  const errorText = (error) => {
    const { name, message } = error;
    if (typeof message !== 'string') return typeof name === 'string' ? name : 'Error';
    return typeof name === 'string' && name !== '' ? name + (message === '' ? '' : ': ' + message) : message;
  };
  const show = (value) => {
    try {
      if (typeof value === 'string') return value;
      if (typeof value === 'bigint') return Text(value) + 'n';
      if (typeof value !== 'object' || value === null) return Text(value);
      if (isError(value)) return errorText(value);
      const text = stringify(value);
      return typeof text === 'string' ? text : Text(value);
    } catch {
      return '[a value that cannot be shown]';
    }
  };

  let left = outputBytes;
  const log = (...values) => {
    if (left < 0) return;
    let line = '';
    for (let i = 0; i < values.length && line.length <= left; i++) line += (i === 0 ? '' : ' ') + show(values[i]);
    const length = left + 1;
    left -= line.length + 1;
    print(stringify(firstOf(line, length) + '\\n'));
  };
  const target = {};
  for (const name of ['log', 'info', 'warn', 'error', 'debug']) define(target, name, log);
  define(globalThis, 'console', target);

  const calls = { __proto__: null };
  let made = 0;
  let sent = 0;
  let settled = 0;
  // Those beyond it wait here, where their memory counts.
  const sendCalls = () => {
    while (sent < made && sent - settled < parallelCalls) {
      const call = calls[sent + 1];
      send(sent + 1, call.name, call.args);
      sent++;
      call.args = '';
    }
  };
  define(globalThis, 'call_tool', function call_tool(name, args) {
    // Made here, so that it knows the line of the call.
    const error = new Failure();
    return new Future((resolve, reject) => {
      // JSON.stringify shows what it says.
      const assign = (name, value) =>
        value === undefined ||
        defineProperty(error, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      const fail = (message, code, data) => {
        assign('message', message);
        assign('code', code);
        assign('data', data);
        reject(error);
      };
      if (typeof name !== 'string') return fail('call_tool(name, args): the name must be a string');
      if (args === undefined) args = {};
      if (typeof args !== 'object' || args === null || isArray(args)) {
        return fail('call_tool(name, args): the arguments must be an object');
      }
      const text = stringify(args);
      if (typeof text !== 'string') return fail('call_tool(name, args): the arguments are not JSON');
      const refusal = admit(name.length + text.length, text);
      if (refusal !== undefined) return fail(refusal);
      calls[++made] = { __proto__: null, name: stringify(name), args: text, resolve, reject, fail };
      sendCalls();
    });
  });

  return {
    __proto__: null,
    settle(id, ok, text) {
      const call = calls[id];
      delete calls[id];
      settled++;
      sendCalls();
      let value;
      try {
        value = parse(text);
      } catch (error) {
        // Or there was no room for it.
        const isWrong = error !== null && getPrototypeOf(error) === Wrong.prototype;
        return isWrong ? call.fail('the answer is not JSON: ' + show(error)) : call.reject(error);
      }
      if (ok) call.resolve(value);
      else call.fail(value.message, value.code, value.data);
    },
    encode(value) {
      const text = stringify(value);
      if (typeof text !== 'string') return undefined;
      // Too long to be passed on.
      return text.length > outputBytes ? null : text;
    },
    describe(error) {
      let text = 'an error that cannot be shown';
      let stack = '';
      try {
        text = error !== null && typeof error === 'object' && typeof error.message === 'string' ? errorText(error) : show(error);
        if (isError(error) && typeof error.stack === 'string') stack = error.stack;
      } catch {}
// Without memory for an error, the engine throws null, or something that is no value at all.
      const type = error === null ? 'null' : typeof error;
      return '[' + stringify(firstOf(text, 8192)) + ',' + stringify(firstOf(stack, 8192)) + ',"' + type + '"]';
    },
  };
})`;
