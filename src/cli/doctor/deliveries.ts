import net from 'node:net';
import tls from 'node:tls';
import { targetOf } from '../../config/deliveries';
import type { Config } from '../../config/load-config';
import { NAME_TOPICS } from '../../delivery/deliver';
import { foreignTopicsNote } from '../../delivery/delivery';
import { errorKinds } from '../../errors';
import { isCertificateFailure } from '../../net/certificate-failures';
import { networkCode, networkReason } from '../../net/network-reason';
import type { CommandContext } from '../process/command-context';
import { type Checks, failed, ok, skipped, warning } from './check';

const ANSWER_MS = 5_000;

/** Whether the receiver of each delivery can be connected to. Nothing is sent. */
export async function* checkDeliveries(
  { deliveries, rotation }: Config,
  { env, cwd, signal }: Pick<CommandContext, 'env' | 'cwd' | 'signal'>,
): Checks {
  const isProxied = Object.keys(env).some((name) => /^(https?|all)_proxy$/i.test(name));
  for (const delivery of deliveries) {
    const subject = { check: 'delivery', feed: delivery.name };
    const note = foreignTopicsNote(delivery);
    if (note !== null) yield warning(subject, note, NAME_TOPICS);
    const target = targetOf(delivery, { env, cwd, rotation });
    if (!('kind' in target))
      for (const { key, problem } of target)
        yield failed(subject, `${key}: ${problem}`, errorKinds.CONFIG_INVALID.remedy, 'CONFIG_INVALID');
    else if (isProxied) yield skipped(subject, `a proxy connects to ${target.shown}`);
    else {
      const { shown } = target;
      const { kind, secret } = delivery.to;
      const { remedy } = errorKinds.DELIVERY_FAILED;
      const failure = await connectTo(new URL(target.url.value), signal);
      if (failure !== null) yield failed(subject, `${shown} ${failure}`, remedy, 'DELIVERY_FAILED');
      else if (kind === 'slack' || secret !== null)
        yield ok(subject, `${shown} can be reached; nothing was sent`);
      else
        yield warning(
          subject,
          `${shown} can be reached, but requests are not signed`,
          'If others can reach the receiver, set secretFile or secretEnv, and have the receiver check the signature.',
        );
    }
  }
}

/** @returns why there is no connection; null if there is one */
function connectTo({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<string | null> {
  // IPv6 addresses stand in brackets.
  const host = hostname.replace(/^\[|\]$/g, '');
  const isSecure = protocol === 'https:';
  const to = { host, port: Number(port) || (isSecure ? 443 : 80), timeout: ANSWER_MS };
  return new Promise((resolve) => {
    const socket = isSecure
      ? tls.connect({ ...to, ...(net.isIP(host) === 0 && { servername: host }) }, () => end(null))
      : net.connect(to, () => end(null));
    const end = (failure: string | null): void => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(failure);
    };
    const onAbort = () => end('was not waited for');
    signal.addEventListener('abort', onAbort);
    socket.once('timeout', () => end(`does not answer within ${ANSWER_MS / 1_000} s`));
    socket.once('error', (error) => {
      const isForeign = isCertificateFailure(networkCode(error));
      end(
        `${isForeign ? 'shows a certificate that is not trusted' : 'cannot be reached'} (${networkReason(error)})`,
      );
    });
  });
}
