import type { FastifyHelmetOptions } from '@fastify/helmet';

/**
 * The page may only load its own files and send requests to its own server. Texts of the vendor that were taken for markup would
 * find nothing to run.
 */
export const securityHeaders: FastifyHelmetOptions = {
  global: true,
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'connect-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
      'require-trusted-types-for': ["'script'"],
      'trusted-types': ["'none'"],
    },
  },
  xFrameOptions: { action: 'deny' },
  referrerPolicy: { policy: 'no-referrer' },
  // It is served over HTTP; a proxy before it that speaks TLS says this by itself.
  strictTransportSecurity: false,
};
