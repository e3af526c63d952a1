// Starts the reference. It is a file of its own because the page's Content-Security-Policy allows no inline scripts.
SwaggerUIBundle({
  url: document.currentScript.dataset.document,
  dom_id: "#reference",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 1,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
