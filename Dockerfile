# The post office, alone in its image.
#
#   docker build --build-arg VERSION=v1.2.3 -t pennypost .
#   docker run -v pennypost:/data -p 127.0.0.1:8765:8765 pennypost
#   docker cp CONTAINER:/data/token token
#   PENNYPOST_TOKEN=$(cat token) pennypost agents --remote http://127.0.0.1:8765
#
# It listens on all addresses of the container, so publish the port on loopback, as above. For other machines:
# serve --tls (docs/phone.md).
#
# The image that builds it is named by a tag, which its publisher can move: scripts/pin-images puts its digest here, and
# needs the registry, which could not be reached where this was written.
FROM golang:1.26.8-bookworm AS build
ARG VERSION=devel
WORKDIR /src
COPY . .
RUN scripts/build "$VERSION" /out && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/pennypostd /out/pennypost-nats /
COPY --from=build --chown=65532:65532 --chmod=0700 /data /data
USER 65532:65532
ENV PENNYPOST_HOME=/data
LABEL io.modelcontextprotocol.server.name="io.github.OWNER/pennypost"
VOLUME /data
EXPOSE 8765
ENTRYPOINT ["/pennypostd"]
CMD ["serve", "--listen", "0.0.0.0:8765", "--insecure"]
